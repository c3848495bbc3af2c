DO $migration$
DECLARE
  found_version int := 0;
  found_again int;
BEGIN
  IF version() LIKE '%CockroachDB%' THEN
    RAISE EXCEPTION 'CockroachDB is not supported: its advisory locks lock nothing' USING ERRCODE = 'SD001';
  END IF;
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION 'the database must have the encoding UTF8' USING ERRCODE = 'SD002';
  END IF;
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'a migration needs the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;

  -- First the lock, and only then a look at what is there: each statement after it sees what others did until now.
  PERFORM pg_advisory_xact_lock(hashtext('@svc/db migration'), hashtext({schema-literal}));
  -- IF NOT EXISTS would demand the right to create schemas where one is there already.
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = {schema-literal}) THEN
    CREATE SCHEMA {schema};
  END IF;
  IF NOT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = {schema-literal} AND c.relname = 'schema_version'
  ) THEN
    CREATE TABLE {schema}.schema_version (
      only_row boolean NOT NULL DEFAULT true,
      version int NOT NULL,
      min_compatible int NOT NULL,
      -- Until when a process that is about to build an index has the first go.
      build_claimed_until timestamptz,
      CONSTRAINT schema_version_pkey PRIMARY KEY (only_row),
      CONSTRAINT schema_version_only_row CHECK (only_row)
    );
    INSERT INTO {schema}.schema_version (version, min_compatible) VALUES (0, 0);
  END IF;
  SELECT v.version INTO STRICT found_version FROM {schema}.schema_version v;
  PERFORM set_config('svc_db.found_version', found_version::text, true);

  SELECT v.version INTO STRICT found_again FROM {schema}.schema_version v;
  IF found_again = 0 THEN
    EXECUTE $step_1$
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

-- Why a change must not be made, as refuseGrowth() in core/usage.ts says it; NULL: it may.
CREATE FUNCTION {schema}.refusal_v1(
  p_used_bytes bigint, p_more_bytes bigint, p_max_bytes bigint, p_used_files bigint, p_more_files bigint, p_max_files bigint
) RETURNS text LANGUAGE sql IMMUTABLE AS $body$
  SELECT CASE
    WHEN p_more_bytes > 0 AND p_used_bytes + p_more_bytes > p_max_bytes THEN 'maxBytes'
    WHEN p_more_files > 0 AND p_used_files + p_more_files > p_max_files THEN 'maxFiles'
    WHEN p_used_bytes + p_more_bytes > 9007199254740991 THEN 'sum'
  END
$body$;

CREATE FUNCTION {schema}.reserve_v1(
  p_id uuid, p_scope text, p_bucket text, p_key text, p_declared_size bigint, p_expires_at timestamptz, p_route text,
  p_filename text, p_content_type text, p_metadata json, p_storage_key text, p_upload_id text, p_overwrite boolean,
  p_max_bytes bigint, p_max_files bigint, p_now timestamptz
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;
  mine boolean;
  more_bytes bigint;
  more_files bigint;
  more_pending bigint;
  used_bytes bigint;
  used_files bigint;
  refused text;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || p_bucket || E'\x1f' || p_key COLLATE "C", 0)) IS NOT NULL;
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;
  mine := coalesce(a.scope, p.scope, p_scope) = p_scope;
  IF NOT mine AND (a.id IS NOT NULL OR p.expires_at > p_now) THEN
    RETURN '{"outcome":"key-conflict"}';
  END IF;
  IF mine AND p.id = p_id THEN
    RETURN '{"outcome":"reserved","object":' || pg_catalog.json_build_array(
      p.id, p.attempt_id, p.scope, p.bucket, p.key, p.status, p.route, p.filename,
      p.content_type, p.size::text, p.declared_size::text, p.e_tag, p.metadata::text,
      p.storage_key, p.upload_id, (date_part('epoch', p.expires_at) * 1000::float8)::bigint::text, (date_part('epoch', p.created_at) * 1000::float8)::bigint::text,
      (date_part('epoch', p.updated_at) * 1000::float8)::bigint::text, (date_part('epoch', p.confirmed_at) * 1000::float8)::bigint::text, (date_part('epoch', p.deleted_at) * 1000::float8)::bigint::text
    )::text || '}';
  END IF;
  IF p_id IN (a.id, a.attempt_id, p.id) THEN
    RETURN '{"outcome":"reused-id"}';
  END IF;
  IF p_storage_key IN (a.storage_key, p.storage_key) THEN
    RETURN '{"outcome":"reused-storage-key"}';
  END IF;
  IF a.id IS NOT NULL AND NOT p_overwrite THEN
    RETURN '{"outcome":"key-conflict"}';
  END IF;

  more_bytes := greatest(0, p_declared_size - coalesce(a.size, 0));
  more_files := (a.id IS NULL)::int;
  more_pending := 1;
  IF p.id IS NOT NULL AND mine THEN
    more_bytes := more_bytes - greatest(0, p.declared_size - coalesce(a.size, 0));
    more_files := 0;
    more_pending := 0;
  END IF;

  IF NOT mine THEN
    -- Two usage rows will change. Everybody who changes several locks them in the order of their scopes.
    PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope IN (p_scope, p.scope) ORDER BY u.scope FOR UPDATE;
  END IF;
  IF p_max_bytes IS NOT NULL OR p_max_files IS NOT NULL THEN
    -- Most refusals are seen here, before anything is written. That it fits proves nothing yet.
    SELECT u.bytes + u.reserved_bytes, u.files + u.reserved_files INTO used_bytes, used_files
      FROM {schema}.scope_usage u WHERE u.scope = p_scope;
    refused := {schema}.refusal_v1(
      coalesce(used_bytes, 0), more_bytes, p_max_bytes, coalesce(used_files, 0), more_files, p_max_files);
  END IF;

  IF refused IS NULL THEN
    IF p.id IS NOT NULL THEN
      DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
    END IF;
    INSERT INTO {schema}.objects (
      id, attempt_id, scope, bucket, key, status, route, filename, content_type, declared_size, metadata, storage_key,
      upload_id, expires_at, created_at, updated_at, writable_until)
    VALUES (
      p_id, p_id, p_scope, p_bucket, p_key, 'pending', p_route, p_filename, p_content_type, p_declared_size, p_metadata,
      p_storage_key, p_upload_id, p_expires_at, p_now, p_now, p_expires_at);

    LOOP
      UPDATE {schema}.scope_usage u SET
        reserved_bytes = u.reserved_bytes + more_bytes,
        reserved_files = u.reserved_files + more_files,
        pending_rows = u.pending_rows + more_pending
      WHERE u.scope = p_scope
        AND (p_max_bytes IS NULL OR more_bytes <= 0 OR u.bytes + u.reserved_bytes + more_bytes <= p_max_bytes)
        AND (p_max_files IS NULL OR more_files <= 0 OR u.files + u.reserved_files + more_files <= p_max_files)
        AND u.bytes + u.reserved_bytes + more_bytes <= 9007199254740991;
      EXIT WHEN FOUND;
      INSERT INTO {schema}.scope_usage (scope) VALUES (p_scope) ON CONFLICT (scope) DO NOTHING;
      IF NOT FOUND THEN
        SELECT u.bytes + u.reserved_bytes, u.files + u.reserved_files INTO used_bytes, used_files
          FROM {schema}.scope_usage u WHERE u.scope = p_scope;
        refused := {schema}.refusal_v1(used_bytes, more_bytes, p_max_bytes, used_files, more_files, p_max_files);
        -- Otherwise somebody has made room in between: once more.
        EXIT WHEN refused IS NOT NULL;
      END IF;
    END LOOP;

    IF refused IS NOT NULL THEN
      -- Others took the room since the first look. The key is still ours, so what was there can be put back.
      DELETE FROM {schema}.objects o WHERE o.attempt_id = p_id;
      IF p.id IS NOT NULL THEN
        INSERT INTO {schema}.objects VALUES (p.*);
      END IF;
    END IF;
  END IF;

  IF refused = 'maxFiles' THEN
    RETURN pg_catalog.json_build_object('outcome', refused, 'used', (coalesce(used_files, 0))::text, 'requested', (more_files)::text)::text;
  ELSIF refused IS NOT NULL THEN
    RETURN pg_catalog.json_build_object('outcome', refused, 'used', (coalesce(used_bytes, 0))::text, 'requested', (more_bytes)::text)::text;
  END IF;

  IF NOT mine THEN
    -- A lapsed reservation of another scope, beside which there is no active row: all its bytes were growth.
    UPDATE {schema}.scope_usage u SET
      reserved_bytes = u.reserved_bytes - p.declared_size,
      reserved_files = u.reserved_files - 1,
      pending_rows = u.pending_rows - 1
    WHERE u.scope = p.scope;
  END IF;
  IF p.storage_key IS NOT NULL OR p.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (p.attempt_id, p.bucket, p.key, p.storage_key, p.upload_id, p_now, p.writable_until)
    ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until;
  END IF;
  IF NOT mine THEN
    RETURN pg_catalog.json_build_object('outcome', 'reserved', 'otherScope', p.scope)::text;
  END IF;
  RETURN '{"outcome":"reserved"}';
END
$body$;

CREATE FUNCTION {schema}.confirm_v1(
  p_bucket text, p_key text, p_id uuid, p_scope text, p_size bigint, p_e_tag text, p_content_type text,
  p_max_bytes bigint, p_now timestamptz
) RETURNS text LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;
  reserved bigint;
  more_bytes bigint;
  used bigint;
  refused text;
  answer text;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || p_bucket || E'\x1f' || p_key COLLATE "C", 0)) IS NOT NULL;
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;
  IF p_scope IS NOT NULL AND p_scope IS DISTINCT FROM coalesce(a.scope, p.scope) THEN
    RETURN '{"outcome":"not-found"}';
  END IF;
  IF p.id IS NULL OR p.id <> p_id THEN
    -- Done before, by this attempt or, where none is named, with these very bytes?
    IF a.size = p_size AND (
      (p_id IS NULL AND a.e_tag = p_e_tag)
      OR (a.attempt_id = p_id AND (p_e_tag IS NULL OR a.e_tag = p_e_tag))
    ) THEN
      RETURN '{"outcome":"confirmed","object":' || pg_catalog.json_build_array(
      a.id, a.attempt_id, a.scope, a.bucket, a.key, a.status, a.route, a.filename,
      a.content_type, a.size::text, a.declared_size::text, a.e_tag, a.metadata::text,
      a.storage_key, a.upload_id, (date_part('epoch', a.expires_at) * 1000::float8)::bigint::text, (date_part('epoch', a.created_at) * 1000::float8)::bigint::text,
      (date_part('epoch', a.updated_at) * 1000::float8)::bigint::text, (date_part('epoch', a.confirmed_at) * 1000::float8)::bigint::text, (date_part('epoch', a.deleted_at) * 1000::float8)::bigint::text
    )::text || '}';
    END IF;
    RETURN '{"outcome":"not-found"}';
  END IF;

  reserved := greatest(0, p.declared_size - coalesce(a.size, 0));
  more_bytes := p_size - coalesce(a.size, 0) - reserved;
  IF more_bytes > 0 THEN
    -- More than was reserved, which is rare: so here the usage row is locked first, and what it says is final.
    SELECT u.bytes + u.reserved_bytes INTO used FROM {schema}.scope_usage u WHERE u.scope = p.scope FOR UPDATE;
    refused := {schema}.refusal_v1(coalesce(used, 0), more_bytes, p_max_bytes, 0, 0, NULL);
    IF refused IS NOT NULL THEN
      RETURN pg_catalog.json_build_object('outcome', refused, 'used', (coalesce(used, 0))::text, 'requested', (more_bytes)::text)::text;
    END IF;
  END IF;

  IF a.id IS NULL THEN
    UPDATE {schema}.objects o SET
      status = 'active', size = p_size, e_tag = p_e_tag, content_type = coalesce(p_content_type, o.content_type),
      declared_size = NULL, upload_id = NULL, expires_at = NULL, updated_at = p_now, confirmed_at = p_now
    WHERE o.attempt_id = p.attempt_id RETURNING pg_catalog.json_build_array(
      o.id, o.attempt_id, o.scope, o.bucket, o.key, o.status, o.route, o.filename,
      o.content_type, o.size::text, o.declared_size::text, o.e_tag, o.metadata::text,
      o.storage_key, o.upload_id, (date_part('epoch', o.expires_at) * 1000::float8)::bigint::text, (date_part('epoch', o.created_at) * 1000::float8)::bigint::text,
      (date_part('epoch', o.updated_at) * 1000::float8)::bigint::text, (date_part('epoch', o.confirmed_at) * 1000::float8)::bigint::text, (date_part('epoch', o.deleted_at) * 1000::float8)::bigint::text
    )::text INTO answer;
  ELSE
    -- In place: the object keeps its id and so its place in every list.
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
    UPDATE {schema}.objects o SET
      attempt_id = p.attempt_id, route = p.route, filename = p.filename,
      content_type = coalesce(p_content_type, p.content_type), size = p_size, e_tag = p_e_tag, metadata = p.metadata,
      storage_key = p.storage_key, updated_at = p_now, confirmed_at = p_now, writable_until = p.writable_until
    WHERE o.attempt_id = a.attempt_id RETURNING pg_catalog.json_build_array(
      o.id, o.attempt_id, o.scope, o.bucket, o.key, o.status, o.route, o.filename,
      o.content_type, o.size::text, o.declared_size::text, o.e_tag, o.metadata::text,
      o.storage_key, o.upload_id, (date_part('epoch', o.expires_at) * 1000::float8)::bigint::text, (date_part('epoch', o.created_at) * 1000::float8)::bigint::text,
      (date_part('epoch', o.updated_at) * 1000::float8)::bigint::text, (date_part('epoch', o.confirmed_at) * 1000::float8)::bigint::text, (date_part('epoch', o.deleted_at) * 1000::float8)::bigint::text
    )::text INTO answer;
  IF a.storage_key IS NOT NULL OR a.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (a.attempt_id, a.bucket, a.key, a.storage_key, a.upload_id, p_now, a.writable_until)
    ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until;
  END IF;
  END IF;

  UPDATE {schema}.scope_usage u SET
    bytes = u.bytes + p_size - coalesce(a.size, 0),
    files = u.files + (a.id IS NULL)::int,
    reserved_bytes = u.reserved_bytes - reserved,
    reserved_files = u.reserved_files - (a.id IS NULL)::int,
    pending_rows = u.pending_rows - 1
  WHERE u.scope = p.scope;
  RETURN '{"outcome":"confirmed","object":' || answer || '}';
END
$body$;

-- One write of a batch, reserve or confirm, with the arguments of its function; place is its number in the batch.
CREATE TYPE {schema}.scope_write_v1 AS (
  place int, kind text, id uuid, bucket text, key text, declared_size bigint, expires_at timestamptz, route text,
  filename text, content_type text, metadata json, storage_key text, upload_id text, overwrite boolean, size bigint,
  e_tag text, max_bytes bigint, max_files bigint, now timestamptz
);

CREATE FUNCTION {schema}.write_batch_v1(p_scope text, p_writes json)
RETURNS TABLE (place int, answer text) LANGUAGE plpgsql VOLATILE
SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $body$
#variable_conflict use_column
DECLARE
  writes {schema}.scope_write_v1[];
  one_by_one {schema}.scope_write_v1[];
  new_keys {schema}.scope_write_v1[];
  attempts {schema}.scope_write_v1[];
  one {schema}.scope_write_v1;
  keys bigint;
  others text[];
  used_bytes bigint;
  used_files bigint;
  more_bytes bigint;
  more_files bigint;
  max_bytes bigint;
  max_files bigint;
  declared bigint;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  SELECT pg_catalog.array_agg(w) INTO writes
  FROM pg_catalog.json_populate_recordset(NULL::{schema}.scope_write_v1, p_writes) w;

  -- All keys before the first row, and in one order: two batches that want the same keys can't wait for each other.
  PERFORM pg_advisory_xact_lock(k.number) FROM (
    SELECT DISTINCT pg_catalog.hashtextextended({schema-literal} || E'\x1f' || w.bucket || E'\x1f' || w.key COLLATE "C", 0) AS number FROM pg_catalog.unnest(writes) w ORDER BY 1
  ) k;
  GET DIAGNOSTICS keys = ROW_COUNT;

  -- What lies at the keys stays as it is now. A subquery for each key: a plan made while the table is small can't turn
  -- that into a scan.
  SELECT
    pg_catalog.array_agg(w) FILTER (WHERE m.usual AND w.kind = 'reserve'),
    pg_catalog.array_agg(w) FILTER (WHERE m.usual AND w.kind = 'confirm'),
    pg_catalog.array_agg(w) FILTER (WHERE NOT m.usual),
    pg_catalog.array_agg(l.lapsed_of) FILTER (WHERE l.lapsed_of IS NOT NULL),
    sum(m.more_bytes), count(*) FILTER (WHERE w.kind = 'reserve'),
    min(w.max_bytes) FILTER (WHERE m.more_bytes > 0), min(w.max_files) FILTER (WHERE w.kind = 'reserve'),
    sum(l.declared) FILTER (WHERE m.usual AND w.kind = 'confirm')
  INTO new_keys, attempts, one_by_one, others, more_bytes, more_files, max_bytes, max_files, declared
  FROM pg_catalog.unnest(writes) w
  CROSS JOIN LATERAL (
    SELECT count(*) AS rows,
      max(o.declared_size) FILTER (WHERE o.status = 'pending' AND o.id = w.id AND o.scope = p_scope) AS declared,
      max(o.scope) FILTER (WHERE o.status = 'pending' AND o.scope <> p_scope AND o.expires_at <= w.now) AS lapsed_of
    FROM {schema}.objects o WHERE o.bucket = w.bucket AND o.key = w.key AND o.status <> 'deleted'
  ) l
  CROSS JOIN LATERAL (
    SELECT CASE w.kind WHEN 'reserve' THEN l.rows = 0 ELSE l.rows = 1 AND l.declared IS NOT NULL END AS usual,
      -- At most; a confirm of an attempt of its own is known to the byte.
      CASE w.kind WHEN 'reserve' THEN w.declared_size ELSE greatest(0, w.size - coalesce(l.declared, 0)) END AS more_bytes
  ) m;

  -- From here on the sums are final. Whoever takes the place of another scope's lapsed reservation changes two usage
  -- rows, and everybody who changes several locks them in the order of their scopes.
  IF others IS NOT NULL THEN
    PERFORM 1 FROM {schema}.scope_usage u WHERE u.scope = ANY (others || p_scope) ORDER BY u.scope FOR UPDATE;
  END IF;
  SELECT u.bytes + u.reserved_bytes, u.files + u.reserved_files INTO used_bytes, used_files
    FROM {schema}.scope_usage u WHERE u.scope = p_scope FOR UPDATE;

  IF NOT FOUND OR keys < pg_catalog.cardinality(writes)
    OR used_bytes + more_bytes > least(max_bytes, 9007199254740991) OR used_files + more_files > max_files
  THEN
    -- A new scope, a key twice, or not room for all.
    one_by_one := writes;
  ELSE
    IF new_keys IS NOT NULL THEN
      INSERT INTO {schema}.objects (
        id, attempt_id, scope, bucket, key, status, route, filename, content_type, declared_size, metadata, storage_key,
        upload_id, expires_at, created_at, updated_at, writable_until)
      SELECT
        w.id, w.id, p_scope, w.bucket, w.key, 'pending', w.route, w.filename, w.content_type, w.declared_size, w.metadata,
        w.storage_key, w.upload_id, w.expires_at, w.now, w.now, w.expires_at
      FROM pg_catalog.unnest(new_keys) w;
      RETURN QUERY SELECT w.place, '{"outcome":"reserved"}' FROM pg_catalog.unnest(new_keys) w;
    END IF;
    IF attempts IS NOT NULL THEN
      RETURN QUERY
      UPDATE {schema}.objects o SET
        status = 'active', size = w.size, e_tag = w.e_tag, content_type = coalesce(w.content_type, o.content_type),
        declared_size = NULL, upload_id = NULL, expires_at = NULL, updated_at = w.now, confirmed_at = w.now
      FROM pg_catalog.unnest(attempts) w WHERE o.attempt_id = w.id
      RETURNING w.place, '{"outcome":"confirmed","object":' || pg_catalog.json_build_array(
      o.id, o.attempt_id, o.scope, o.bucket, o.key, o.status, o.route, o.filename,
      o.content_type, o.size::text, o.declared_size::text, o.e_tag, o.metadata::text,
      o.storage_key, o.upload_id, (date_part('epoch', o.expires_at) * 1000::float8)::bigint::text, (date_part('epoch', o.created_at) * 1000::float8)::bigint::text,
      (date_part('epoch', o.updated_at) * 1000::float8)::bigint::text, (date_part('epoch', o.confirmed_at) * 1000::float8)::bigint::text, (date_part('epoch', o.deleted_at) * 1000::float8)::bigint::text
    )::text || '}';
    END IF;
    UPDATE {schema}.scope_usage u SET
      bytes = u.bytes + confirmed.bytes,
      files = u.files + confirmed.files,
      reserved_bytes = u.reserved_bytes + reserved.bytes - coalesce(declared, 0),
      reserved_files = u.reserved_files + reserved.files - confirmed.files,
      pending_rows = u.pending_rows + reserved.files - confirmed.files
    FROM (SELECT coalesce(sum(w.declared_size), 0)::bigint AS bytes, count(*) AS files FROM pg_catalog.unnest(new_keys) w) reserved,
      (SELECT coalesce(sum(w.size), 0)::bigint AS bytes, count(*) AS files FROM pg_catalog.unnest(attempts) w) confirmed
    WHERE u.scope = p_scope;
  END IF;

  IF one_by_one IS NOT NULL THEN
    FOREACH one IN ARRAY one_by_one LOOP
      place := one.place;
      IF one.kind = 'reserve' THEN
        answer := {schema}.reserve_v1(
          one.id, p_scope, one.bucket, one.key, one.declared_size, one.expires_at, one.route, one.filename, one.content_type, one.metadata,
          one.storage_key, one.upload_id, one.overwrite, one.max_bytes, one.max_files, one.now);
      ELSE
        answer := {schema}.confirm_v1(
          one.bucket, one.key, one.id, p_scope, one.size, one.e_tag, one.content_type, one.max_bytes, one.now);
      END IF;
      RETURN NEXT;
    END LOOP;
  END IF;
END
$body$;

CREATE FUNCTION {schema}.set_upload_id_v1(
  p_bucket text, p_key text, p_id uuid, p_upload_id text, p_now timestamptz,
  OUT outcome text, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || p_bucket || E'\x1f' || p_key COLLATE "C", 0)) IS NOT NULL;
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;
  IF p.id IS DISTINCT FROM p_id THEN
    outcome := 'not-found';
  ELSIF p.upload_id = p_upload_id THEN
    outcome := 'set';
    obj := p;
  ELSIF p.upload_id IS NOT NULL THEN
    outcome := 'other-upload';
  ELSE
    UPDATE {schema}.objects o SET upload_id = p_upload_id, updated_at = p_now WHERE o.attempt_id = p.attempt_id RETURNING o.* INTO obj;
    outcome := 'set';
  END IF;
END
$body$;

CREATE FUNCTION {schema}.release_v1(
  p_bucket text, p_key text, p_id uuid, p_scope text, p_upload_id text, p_now timestamptz, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || p_bucket || E'\x1f' || p_key COLLATE "C", 0)) IS NOT NULL;
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;
  IF p.id IS NULL OR p.id <> p_id OR p.scope <> p_scope
    OR (p_upload_id IS NOT NULL AND p.upload_id IS DISTINCT FROM p_upload_id)
  THEN
    RETURN;
  END IF;
  DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
  IF p.storage_key IS NOT NULL OR p.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (p.attempt_id, p.bucket, p.key, p.storage_key, p.upload_id, p_now, p.writable_until)
    ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until;
  END IF;
  UPDATE {schema}.scope_usage u SET
    reserved_bytes = u.reserved_bytes - greatest(0, p.declared_size - coalesce(a.size, 0)),
    reserved_files = u.reserved_files - (a.id IS NULL)::int,
    pending_rows = u.pending_rows - 1
  WHERE u.scope = p.scope;
  obj := p;
END
$body$;

CREATE FUNCTION {schema}.remove_v1(
  p_bucket text, p_key text, p_scope text, p_soft boolean, p_now timestamptz, OUT obj {schema}.objects
) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || p_bucket || E'\x1f' || p_key COLLATE "C", 0)) IS NOT NULL;
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;
  IF coalesce(a.id, p.id) IS NULL OR coalesce(a.scope, p.scope) <> p_scope THEN
    RETURN;
  END IF;
  IF p.id IS NOT NULL THEN
    DELETE FROM {schema}.objects o WHERE o.attempt_id = p.attempt_id;
  IF p.storage_key IS NOT NULL OR p.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (p.attempt_id, p.bucket, p.key, p.storage_key, p.upload_id, p_now, p.writable_until)
    ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until;
  END IF;
  END IF;
  IF a.id IS NULL THEN
    obj := p;
  ELSE
    IF p_soft THEN
      UPDATE {schema}.objects o SET status = 'deleted', updated_at = p_now, deleted_at = p_now
      WHERE o.attempt_id = a.attempt_id RETURNING o.* INTO obj;
    ELSE
      DELETE FROM {schema}.objects o WHERE o.attempt_id = a.attempt_id;
      obj := a;
    END IF;
  IF a.storage_key IS NOT NULL OR a.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (a.attempt_id, a.bucket, a.key, a.storage_key, a.upload_id, p_now, a.writable_until)
    ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until;
  END IF;
  END IF;
  UPDATE {schema}.scope_usage u SET
    bytes = u.bytes - coalesce(a.size, 0),
    files = u.files - (a.id IS NOT NULL)::int,
    reserved_bytes = u.reserved_bytes - greatest(0, p.declared_size - coalesce(a.size, 0)),
    reserved_files = u.reserved_files - (a.id IS NULL)::int,
    pending_rows = u.pending_rows - (p.id IS NOT NULL)::int,
    deleted_rows = u.deleted_rows + (a.id IS NOT NULL AND p_soft)::int
  WHERE u.scope = obj.scope;
END
$body$;

CREATE FUNCTION {schema}.purge_expired_v1(p_scope text, p_before timestamptz, p_limit int, p_now timestamptz)
RETURNS SETOF {schema}.objects LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  IF p_scope IS NULL THEN
    SELECT pg_catalog.array_agg(o.attempt_id) INTO attempts FROM (
      SELECT o.attempt_id, o.bucket, o.key FROM {schema}.objects o
      WHERE o.status = 'pending' AND o.expires_at <= p_before
      ORDER BY o.expires_at, o.id LIMIT p_limit
    ) o WHERE pg_try_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || o.bucket || E'\x1f' || o.key COLLATE "C", 0));
  ELSE
    SELECT pg_catalog.array_agg(o.attempt_id) INTO attempts FROM (
      SELECT o.attempt_id, o.bucket, o.key FROM {schema}.objects o
      WHERE o.status = 'pending' AND o.expires_at <= p_before AND o.scope = p_scope
      ORDER BY o.expires_at, o.id LIMIT p_limit
    ) o WHERE pg_try_advisory_xact_lock(pg_catalog.hashtextextended({schema-literal} || E'\x1f' || o.bucket || E'\x1f' || o.key COLLATE "C", 0));
  END IF;
  IF attempts IS NULL THEN
    RETURN;
  END IF;
  -- A new statement sees what was changed until the locks were there: a row that was confirmed meanwhile is spared.
  RETURN QUERY
  WITH ended AS (
    DELETE FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts) AND o.status = 'pending' AND o.expires_at <= p_before
    RETURNING o.*
  ), left_behind AS (
    INSERT INTO {schema}.leftovers (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    SELECT e.attempt_id, e.bucket, e.key, e.storage_key, e.upload_id, p_now, e.writable_until FROM ended e
    WHERE e.storage_key IS NOT NULL OR e.upload_id IS NOT NULL
    ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until
  ), charged AS (
    -- An upsert instead of an UPDATE, because it locks the rows in the order in which they come.
    INSERT INTO {schema}.scope_usage AS u (scope, reserved_bytes, reserved_files, pending_rows)
    SELECT e.scope, -sum(greatest(0, e.declared_size - coalesce(a.size, 0)))::bigint, -count(*) FILTER (WHERE a.id IS NULL), -count(*)
    FROM ended e
    LEFT JOIN {schema}.objects a ON a.bucket = e.bucket AND a.key = e.key AND a.status = 'active'
    GROUP BY e.scope ORDER BY e.scope
    ON CONFLICT (scope) DO UPDATE SET
      reserved_bytes = u.reserved_bytes + excluded.reserved_bytes,
      reserved_files = u.reserved_files + excluded.reserved_files,
      pending_rows = u.pending_rows + excluded.pending_rows
  )
  SELECT e.* FROM ended e ORDER BY e.expires_at, e.id;
END
$body$;

CREATE FUNCTION {schema}.purge_deleted_v1(p_before timestamptz, p_limit int)
RETURNS TABLE (scope text, dropped bigint) LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
DECLARE
  attempts uuid[];
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  -- History belongs to no key any more, so its rows are locked one by one; what another purge has is left to it.
  attempts := ARRAY(
    SELECT o.attempt_id FROM {schema}.objects o WHERE o.status = 'deleted' AND o.deleted_at <= p_before
    ORDER BY o.deleted_at, o.id LIMIT p_limit FOR UPDATE SKIP LOCKED);
  RETURN QUERY
  WITH gone AS (
    DELETE FROM {schema}.objects o WHERE o.attempt_id = ANY (attempts) RETURNING o.scope
  ), counted AS (
    SELECT g.scope, count(*) AS dropped FROM gone g GROUP BY g.scope
  ), charged AS (
    INSERT INTO {schema}.scope_usage AS u (scope, deleted_rows)
    SELECT c.scope, -c.dropped FROM counted c ORDER BY c.scope
    ON CONFLICT (scope) DO UPDATE SET deleted_rows = u.deleted_rows + excluded.deleted_rows
  )
  SELECT c.scope, c.dropped FROM counted c ORDER BY c.scope;
END
$body$;

CREATE FUNCTION {schema}.repair_usage_v1(p_scope text, OUT recorded {schema}.scope_usage, OUT actual {schema}.scope_usage)
LANGUAGE plpgsql VOLATILE AS $body$
#variable_conflict use_column
BEGIN
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;
  INSERT INTO {schema}.scope_usage (scope) VALUES (p_scope) ON CONFLICT (scope) DO NOTHING;
  SELECT u.* INTO recorded FROM {schema}.scope_usage u WHERE u.scope = p_scope FOR UPDATE;
  WITH active AS (
    SELECT coalesce(sum(o.size), 0)::bigint AS bytes, count(*) AS files
    FROM {schema}.objects o WHERE o.scope = p_scope AND o.status = 'active'
  ), pending AS (
    SELECT coalesce(sum(greatest(0, o.declared_size - coalesce(a.size, 0))), 0)::bigint AS bytes,
      count(*) FILTER (WHERE a.id IS NULL) AS files, count(*) AS rows
    FROM {schema}.objects o
    LEFT JOIN {schema}.objects a ON a.bucket = o.bucket AND a.key = o.key AND a.status = 'active'
    WHERE o.scope = p_scope AND o.status = 'pending'
  ), deleted AS (
    SELECT count(*) AS rows FROM {schema}.objects o WHERE o.scope = p_scope AND o.status = 'deleted'
  )
  UPDATE {schema}.scope_usage u SET
    bytes = a.bytes, files = a.files, reserved_bytes = p.bytes, reserved_files = p.files,
    pending_rows = p.rows, deleted_rows = d.rows
  FROM active a, pending p, deleted d WHERE u.scope = p_scope RETURNING u.* INTO actual;
END
$body$;
$step_1$;
    UPDATE {schema}.schema_version v SET version = 1, min_compatible = 1 WHERE v.version = 0;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the schema version was changed by somebody who does not hold the lock' USING ERRCODE = '40001';
    END IF;
  END IF;
END
$migration$;