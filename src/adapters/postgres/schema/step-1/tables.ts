/** Tables and indexes of step 1. Frozen, as every step: a later change is a later step. */
export const TABLES = `
CREATE TABLE {schema}.objects (
  id uuid NOT NULL,
  attempt_id uuid NOT NULL,
  -- COLLATE "C": strings are compared byte for byte, whatever the language of the database.
  scope text COLLATE "C" NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  route text COLLATE "C",
  filename text COLLATE "C",
  content_type text COLLATE "C",
  size bigint,
  declared_size bigint,
  e_tag text COLLATE "C",
  -- json, not jsonb: it keeps the text as it came, with the order of the names and the empty one.
  metadata json,
  storage_key text COLLATE "C",
  upload_id text COLLATE "C",
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  confirmed_at timestamptz,
  deleted_at timestamptz,
  -- The expires_at that the attempt was reserved with: until then a URL may write to its storage_key.
  writable_until timestamptz NOT NULL,
  -- Not the id, although it is unique as well: an index of the ids alone would be in the order of every list, and the
  -- planner would walk through it, past the rows of all other scopes, for a scope that holds much of the table.
  CONSTRAINT objects_pkey PRIMARY KEY (attempt_id),
  CONSTRAINT objects_status CHECK (status IN ('pending', 'active', 'deleted'))
);

-- One index for "one active row a key" and "one pending row a key", and for every look at a key. With two partial
-- indexes, one a status, the planner could use neither for a query of both.
CREATE UNIQUE INDEX objects_live ON {schema}.objects (bucket, key, status) WHERE status <> 'deleted';
CREATE INDEX objects_by_scope ON {schema}.objects (scope, status, id);
CREATE INDEX objects_by_route ON {schema}.objects (scope, route, status, id) WHERE route IS NOT NULL;
CREATE INDEX objects_history ON {schema}.objects (bucket, key, id) WHERE status = 'deleted';
CREATE INDEX objects_deleted ON {schema}.objects (deleted_at, id) WHERE status = 'deleted';
CREATE INDEX objects_expiry ON {schema}.objects (expires_at, id) WHERE status = 'pending';
CREATE INDEX objects_scope_expiry ON {schema}.objects (scope, expires_at, id) WHERE status = 'pending';

-- What the rows of a scope sum up to, changed in the transaction that changes the rows. The active rows are the files,
-- so with the other two counts this answers how many rows of each status there are, too.
CREATE TABLE {schema}.scope_usage (
  scope text COLLATE "C" NOT NULL,
  bytes bigint NOT NULL DEFAULT 0,
  files bigint NOT NULL DEFAULT 0,
  reserved_bytes bigint NOT NULL DEFAULT 0,
  reserved_files bigint NOT NULL DEFAULT 0,
  pending_rows bigint NOT NULL DEFAULT 0,
  deleted_rows bigint NOT NULL DEFAULT 0,
  CONSTRAINT scope_usage_pkey PRIMARY KEY (scope)
)
-- Every write updates one of these rows: room in the page keeps the new version beside the old one, out of the index.
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- What may still lie in the bucket though no row stands for it any more.
CREATE TABLE {schema}.leftovers (
  attempt_id uuid NOT NULL,
  bucket text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  storage_key text COLLATE "C",
  upload_id text COLLATE "C",
  since timestamptz NOT NULL,
  writable_until timestamptz NOT NULL,
  CONSTRAINT leftovers_pkey PRIMARY KEY (attempt_id)
);
CREATE INDEX leftovers_oldest ON {schema}.leftovers (since, attempt_id);
`
