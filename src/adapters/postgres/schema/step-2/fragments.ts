/**
 * SQL that the functions of step 2 share. The fragments of step 1 that did not change are used as they are. Frozen with
 * the step, and written by the same rules as those of step 1.
 */

/**
 * Identifies an object in the queue of events. The number of a key's lock can't: it has 64 bits and a known seed, so a client that
 * chooses a part of its keys could find one with the number of another owner's key, and hold up or receive its events.
 */
export const digestOf = (bucket: string, key: string) =>
  `pg_catalog.encode(pg_catalog.substring(pg_catalog.sha256(pg_catalog.convert_to(
      pg_catalog.length(${bucket})::text || ' ' || ${bucket} || ${key}, 'UTF8')), 1, 16), 'hex')::uuid`

/**
 * Returns the result of a write that would exceed the limit named by `refused`. `held` is the part of `used` that
 * unfinished uploads hold.
 */
export const refusalText = (used: string, held: string, requested: string) =>
  `pg_catalog.json_build_object('outcome', refused, 'used', (coalesce(${used}, 0))::text,
      'reserved', (coalesce(${held}, 0))::text, 'requested', (${requested})::text)::text`

/** Keeps the newer leftover if a caller wrongly used an id twice. */
export const ON_SAME_ATTEMPT = `ON CONFLICT (attempt_id) DO UPDATE SET
      scope = excluded.scope, bucket = excluded.bucket, key = excluded.key, storage_key = excluded.storage_key,
      upload_id = excluded.upload_id, since = excluded.since, writable_until = excluded.writable_until,
      due_at = excluded.due_at`

/** Records a leftover for the bytes that a row leaves in the bucket. */
export const leaveBehind = (row: 'a' | 'p') => `
  IF ${row}.storage_key IS NOT NULL OR ${row}.upload_id IS NOT NULL THEN
    INSERT INTO {schema}.leftovers AS l (attempt_id, scope, bucket, key, storage_key, upload_id, since, writable_until)
    VALUES (${row}.attempt_id, ${row}.scope, ${row}.bucket, ${row}.key, ${row}.storage_key, ${row}.upload_id, p_now,
      ${row}.writable_until)
    ${ON_SAME_ATTEMPT};
  END IF;`
