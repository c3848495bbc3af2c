/** Tables and indexes of step 1. Frozen like every step, so a change is a later step. */
export const TABLES = `
CREATE TABLE {schema}.objects (
  id uuid NOT NULL,
  attempt_id uuid NOT NULL,
  -- COLLATE "C" compares strings byte for byte in every database.
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
  -- Unlike jsonb, json keeps the text unchanged, including the order of the names.
  metadata json,
  storage_key text COLLATE "C",
  upload_id text COLLATE "C",
  expires_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  confirmed_at timestamptz,
  deleted_at timestamptz,
  -- The expires_at of the reservation. Until then, an upload URL may write to the storage_key.
  writable_until timestamptz NOT NULL,
  -- The id is unique as well, but an index on it alone would have the order of every list. For a scope that holds
  -- much of the table, the planner would scan that index, past the rows of all other scopes.
  CONSTRAINT objects_pkey PRIMARY KEY (attempt_id),
  CONSTRAINT objects_status CHECK (status IN ('pending', 'active', 'deleted'))
);

-- Allows one active and one pending row per key, and serves every lookup of a key. With one partial index per status,
-- the planner could use neither for a query of both.
CREATE UNIQUE INDEX objects_live ON {schema}.objects (bucket, key, status) WHERE status <> 'deleted';
CREATE INDEX objects_by_scope ON {schema}.objects (scope, status, id);
CREATE INDEX objects_by_route ON {schema}.objects (scope, route, status, id) WHERE route IS NOT NULL;
CREATE INDEX objects_history ON {schema}.objects (bucket, key, id) WHERE status = 'deleted';
CREATE INDEX objects_deleted ON {schema}.objects (deleted_at, id) WHERE status = 'deleted';
CREATE INDEX objects_expiry ON {schema}.objects (expires_at, id) WHERE status = 'pending';
CREATE INDEX objects_scope_expiry ON {schema}.objects (scope, expires_at, id) WHERE status = 'pending';

-- The sums of each scope, updated in the transaction that changes its rows. "files" is the number of active rows, so
-- the table has a count for every status.
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
-- Every write updates one of these rows. Free space in the page lets Postgres do so without touching the index.
WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- Bytes that may still be in the bucket although no row refers to them.
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
