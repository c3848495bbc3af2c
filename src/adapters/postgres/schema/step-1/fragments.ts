/**
 * What the functions of step 1 have in common, as text that becomes part of each: a call of another function would cost
 * more than most of these do. Frozen with the step.
 *
 * A function of Postgres that takes arguments of any type, or is given a type that it only converts, is named with its
 * schema, and operators get the very types that they are made for: where anybody may create functions in a schema of the
 * search_path, one that fits better would be called in its place. A search_path of the functions' own would cost more.
 */

/**
 * What must be so before a write looks at anything.
 *
 * Under a snapshot older than the lock a function would decide on rows that have changed since: two scopes could own
 * one key. READ COMMITTED takes a new snapshot for every statement; nothing else will do.
 *
 * And a standby would answer from rows that may be old where a write finds nothing to do. So it answers nothing.
 */
export const WRITABLE = `
  IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
    RAISE EXCEPTION 'writes of this schema need the isolation level READ COMMITTED' USING ERRCODE = '25001';
  END IF;
  IF current_setting('transaction_read_only')::boolean THEN
    RAISE EXCEPTION 'writes of this schema need a transaction that is not read-only' USING ERRCODE = '25006';
  END IF;`

/**
 * Number of the advisory lock of a key; two keys with the same number only wait for each other. The locks of migrations
 * have two small numbers instead of a big one, which Postgres keeps apart.
 */
export const lockOf = (bucket: string, key: string) =>
  `pg_catalog.hashtextextended({schema-literal} || E'\\x1f' || ${bucket} || E'\\x1f' || ${key} COLLATE "C", 0)`

/** From here to the end of the transaction nobody else changes the live rows of the key. */
export const LOCK_KEY = `${WRITABLE}
  -- An expression, because a statement of its own (PERFORM) costs as much as the lock.
  locked := pg_advisory_xact_lock(${lockOf('p_bucket', 'p_key')}) IS NOT NULL;`

/** The rows of the key as they are now that it is locked: `a` is the active one, `p` the pending one; all NULL where there is none. */
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
 * A row as one text, a JSON list of texts, which costs a fraction of as many columns: their names and types would go
 * with each answer. In the order of `objectColumns` in statements/object-row.ts.
 */
export const objectText = (row: string) => `pg_catalog.json_build_array(
      ${row}.id, ${row}.attempt_id, ${row}.scope, ${row}.bucket, ${row}.key, ${row}.status, ${row}.route, ${row}.filename,
      ${row}.content_type, ${row}.size::text, ${row}.declared_size::text, ${row}.e_tag, ${row}.metadata::text,
      ${row}.storage_key, ${row}.upload_id, ${milliseconds(`${row}.expires_at`)}, ${milliseconds(`${row}.created_at`)},
      ${milliseconds(`${row}.updated_at`)}, ${milliseconds(`${row}.confirmed_at`)}, ${milliseconds(`${row}.deleted_at`)}
    )::text`

/** The answer of a write that would pass a limit, which `refused` names. */
export const refusalText = (used: string, requested: string) =>
  `pg_catalog.json_build_object('outcome', refused, 'used', (${used})::text, 'requested', (${requested})::text)::text`

/** Bytes by which a pending row would grow the active one. */
export const growth = (declared: string, active: string) =>
  `greatest(0, ${declared} - coalesce(${active}, 0))`

/** An id that was used twice, which no caller may do, keeps the newer leftover. */
export const ON_SAME_ATTEMPT = `ON CONFLICT (attempt_id) DO UPDATE SET
      bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until`

/** Remembers what a row leaves in the bucket. */
export const leaveBehind = (row: 'a' | 'p') => `
  IF ${row}.storage_key IS NOT NULL OR ${row}.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (${row}.attempt_id, ${row}.bucket, ${row}.key, ${row}.storage_key, ${row}.upload_id, p_now, ${row}.writable_until)
    ${ON_SAME_ATTEMPT};
  END IF;`

/** The largest sum that a number of JavaScript holds exactly. */
export const MAX_SUM = '9007199254740991'
