import { objectColumns } from './rows.js'
import { SUMS } from './tables.js'

const OBJECT = objectColumns('o')

const at = `o.bucket = $1 AND o.key = $2`

/**
 * Accepts a row of the scope, or any for `NULL`. As an expression, the scope suits no index in place of that by key.
 * Postgres checks it before it reads long values of the row.
 */
const ofScope = (parameter: string) => `(${parameter}::text IS NULL OR o.scope || '' = ${parameter})`

/** Finds the pending row of a key. As an expression, the status suits no index, whose plan Postgres could keep. */
const pendingAt = `${at} AND o.status <> 'deleted' AND o.status || '' = 'pending'`

/**
 * Selects the counters `u` of a scope. The newest version of a row that changes often is at the end of the index entries of its key,
 * and older ones stay while an old snapshot is open. With an equality, Postgres would read all entries. So it would to sort the only row
 * that it expects. The series makes it expect a hundred, and it takes the first one of the index.
 */
export const usageOfScope = (scope: string) => `(
    SELECT u.*, u.ctid, pg_catalog.generate_series(1, 100) FROM {schema}.scope_usage u
    WHERE u.scope >= ${scope} AND u.scope <= ${scope} ORDER BY u.scope DESC LIMIT 1
  ) u`

/** The reads of one row, one statement each. An index serves every condition, so no call reads rows that it does not return. */
export const READS = {
  usage: `SELECT ${SUMS.join(', ')} FROM ${usageOfScope('$1')}`,

  // 'active' sorts before 'pending'. History is read only if no row is live. The scope does not decide which row it is.
  find: `WITH live AS (
       SELECT o.* FROM {schema}.objects o WHERE ${at} AND o.status <> 'deleted' ORDER BY o.status LIMIT 1
     )
     SELECT ${OBJECT} FROM (
       SELECT o.* FROM live o
       UNION ALL (
         SELECT o.* FROM {schema}.objects o
         WHERE ${at} AND o.status = 'deleted' AND NOT EXISTS (SELECT FROM live) ORDER BY o.id DESC LIMIT 1
       )
     ) o WHERE ${ofScope('$3')}`,
  findActive: `SELECT ${OBJECT} FROM {schema}.objects o WHERE ${at} AND o.status = 'active' AND ${ofScope('$3')}`,
  findPending: `SELECT ${OBJECT} FROM {schema}.objects o
     WHERE ${pendingAt}
       AND ($3::uuid IS NULL OR o.id = $3) AND ($4::text IS NULL OR o.upload_id = $4) AND ${ofScope('$5')}`,
  findPendingMultipart: `SELECT ${OBJECT} FROM {schema}.objects o
     WHERE ${pendingAt}
       AND o.upload_id IS NOT NULL AND o.declared_size = $3 AND o.expires_at > $4`,

  // The first branch finds an object that was never replaced, and attempts.
  findById: `SELECT ${OBJECT} FROM (
       SELECT o.* FROM {schema}.objects o WHERE o.attempt_id = $1 AND o.id = $1
       UNION ALL
       SELECT o.* FROM {schema}.objects o WHERE o.id = $1 AND o.id <> o.attempt_id
     ) o WHERE ${ofScope('$2')} ORDER BY o.status = 'deleted' LIMIT 1`,
}
