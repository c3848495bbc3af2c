/**
 * SQL that the functions of step 1 share. It is text in each of them, because calling another function would cost more
 * than most of it does. Frozen with the step.
 *
 * Calls of polymorphic functions, and calls that convert an argument, name the schema pg_catalog, and operators get
 * operands of their exact types. Otherwise a better matching function in a schema of the search_path would run instead.
 * Setting a search_path for the functions would cost more.
 */

/**
 * Checks the transaction before a write reads anything.
 *
 * With a snapshot older than its lock, a function would decide on outdated rows, and two scopes could own one key. Only
 * READ COMMITTED takes a new snapshot for every statement.
 *
 * On a standby, a write that finds nothing to do would return a result based on outdated rows, so it fails instead.
 */
export const WRITABLE = `
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;`

/**
 * The number of a key's advisory lock. If two keys share a number, they only wait for each other. Migrations lock a
 * pair of small numbers, which Postgres keeps apart from one large number.
 */
export const lockOf = (bucket: string, key: string) =>
  `pg_catalog.hashtextextended({schema-literal} || E'\\x1f' || ${bucket} || E'\\x1f' || ${key} COLLATE "C", 0)`

/** Locks the key: until the end of the transaction, no other transaction changes its live rows. */
export const LOCK_KEY = `${WRITABLE}
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(${lockOf('p_bucket', 'p_key')}) IS NOT NULL;`

/** Reads the rows of the locked key: the active one into `a`, the pending one into `p`. A missing row is all NULL. */
export const READ_LIVE_ROWS = `
  FOR r IN
    SELECT o.* FROM {schema}.objects o WHERE o.bucket = p_bucket AND o.key = p_key AND o.status <> 'deleted'
  LOOP
    IF r.status = 'active' THEN a := r; ELSE p := r; END IF;
  END LOOP;`

export const LIVE_ROWS = `
  locked boolean;
  r {schema}.objects;
  a {schema}.objects;
  p {schema}.objects;`

const milliseconds = (date: string) => `(date_part('epoch', ${date}) * 1000::float8)::bigint::text`

/**
 * Returns a row as a JSON list of strings, in the order of `objectColumns` in statements/object-row.ts. One text costs
 * a fraction of as many columns, whose names and types Postgres would send with each result.
 */
export const objectText = (row: string) => `pg_catalog.json_build_array(
      ${row}.id, ${row}.attempt_id, ${row}.scope, ${row}.bucket, ${row}.key, ${row}.status, ${row}.route, ${row}.filename,
      ${row}.content_type, ${row}.size::text, ${row}.declared_size::text, ${row}.e_tag, ${row}.metadata::text,
      ${row}.storage_key, ${row}.upload_id, ${milliseconds(`${row}.expires_at`)}, ${milliseconds(`${row}.created_at`)},
      ${milliseconds(`${row}.updated_at`)}, ${milliseconds(`${row}.confirmed_at`)}, ${milliseconds(`${row}.deleted_at`)}
    )::text`

/** Returns the result of a write that would exceed the limit named by `refused`. */
export const refusalText = (used: string, requested: string) =>
  `pg_catalog.json_build_object('outcome', refused, 'used', (${used})::text, 'requested', (${requested})::text)::text`

/** Returns the bytes by which a pending row would grow the active one. */
export const growth = (declared: string, active: string) =>
  `greatest(0, ${declared} - coalesce(${active}, 0))`

/** Keeps the newer leftover if a caller wrongly used an id twice. */
export const ON_SAME_ATTEMPT = `ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until`

/** Records a leftover for the bytes that a row leaves in the bucket. */
export const leaveBehind = (row: 'a' | 'p') => `
  IF ${row}.storage_key IS NOT NULL OR ${row}.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (${row}.attempt_id, ${row}.bucket, ${row}.key, ${row}.storage_key, ${row}.upload_id, p_now, ${row}.writable_until)
    ${ON_SAME_ATTEMPT};
  END IF;`

/** The largest integer that a JavaScript number holds exactly. */
export const MAX_SUM = '9007199254740991'
