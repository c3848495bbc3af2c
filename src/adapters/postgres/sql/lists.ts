import { usageOfScope } from './reads.js'
import { leftoverColumns, objectColumns } from './rows.js'

const LEFTOVER = leftoverColumns('l')
const OBJECT = objectColumns('o')

export const FIRST_ID = '00000000-0000-0000-0000-000000000000'
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

const firstId = `'${FIRST_ID}'::uuid`

/**
 * Hides a value from the planner, behind a subquery. Without statistics, it expects few rows of a scope, and would read
 * and sort all of them or use the index by expiry. And while it sees values that seem cheaper than the generic plan,
 * Postgres plans the statement again at each call.
 */
const hidden = (value: string) => `(SELECT ${value})`
const [scope, before, limit] = [hidden('$1::text'), hidden('$2::uuid'), hidden('$3::int')]

/**
 * Selects the rows of the scope. The planner expects that a range whose ends it can't see has few rows, so that the plan hardly costs
 * more once there are statistics. Otherwise Postgres would plan hundreds of lists again, until their average cost has risen
 * as much. The scan itself drops the range, which follows from the equality.
 */
const ofScope = `o.scope = ${scope} AND o.scope >= ${scope} AND o.scope <= ${scope}`

/**
 * Limits a page to the number of rows that the counters of the scope name for `pending` or `deleted`. Writes change both in one
 * transaction, so a list that has found as many is complete. Otherwise it would go on over the entries of rows that have left
 * the status, which stay while an old snapshot is open.
 */
const counted = (status: string) =>
  `least(${limit}, coalesce((
     SELECT CASE ${status} WHEN 'pending' THEN u.pending_rows ELSE u.deleted_rows END FROM ${usageOfScope(scope)}
   ), 0))`

const newest = (columns: string, status: string, rows: string, lowestId = firstId) =>
  `SELECT ${columns} FROM {schema}.objects o
   WHERE ${ofScope} AND o.status = ${hidden(`${status}::text`)} AND o.id < ${before} AND o.id >= ${lowestId}
   ORDER BY o.id DESC LIMIT ${rows}`

/**
 * Selects rows of one status and route, newest first. The row comparisons and their order match only the index by
 * route: the index by scope costs the same while the table is empty, and its plan could be kept.
 */
const newestOfRoute = (columns: string, route: string, status: string, rows: string, lowestId = firstId) =>
  `SELECT ${columns} FROM {schema}.objects o
   WHERE ${ofScope} AND o.route IS NOT NULL
     AND (o.route, o.status, o.id) < (${route}, ${status}, ${before})
     AND (o.route, o.status, o.id) >= (${route}, ${status}, ${lowestId})
   ORDER BY o.route DESC, o.status DESC, o.id DESC LIMIT ${rows}`

/**
 * Selects pending and active rows, which the caller sorts: an index by route has each status in order, and Postgres would copy all
 * rows to sort them. A generic plan of `status IN (…)` reads and sorts the whole scope.
 *
 * A full page of active rows also bounds the pending ones, because the index keeps entries of formerly pending rows
 * until a vacuum. It is read once: its rows are kept to find the last one, if any row is pending.
 */
const newestLive = (
  columns: string,
  newestOf: (columns: string, status: string, rows: string, lowestId?: string) => string,
  pendingRows: string,
) => {
  const lastOfPage = `(SELECT p.id FROM page p LIMIT 1 OFFSET ${limit} - 1)`
  return `WITH page AS MATERIALIZED (${newestOf('o.*', `'active'`, limit)})
   SELECT ${columns} FROM (
     SELECT * FROM page
     UNION ALL
     (${newestOf('o.*', `'pending'`, pendingRows, `coalesce(${lastOfPage}, ${firstId})`)})
   ) o`
}

const listsOf = (columns: string, rowsOf: (status: string) => string) => ({
  list: newest(columns, '$4', rowsOf('$4::text')),
  listRoute: newestOfRoute(columns, hidden('$5::text'), hidden('$4::text'), rowsOf('$4::text')),
  listLive: newestLive(columns, newest, rowsOf(`'pending'`)),
  listLiveRoute: newestLive(
    columns,
    (part, ...more) => newestOfRoute(part, hidden('$4::text'), ...more),
    rowsOf(`'pending'`),
  ),
})

const WITHOUT_METADATA = objectColumns('o', { withMetadata: false })

/** For the lists of a page. Few rows leave `active`, so a list of those, which most are, is not counted. */
export const COUNTED_SCOPE_LISTS = {
  full: listsOf(OBJECT, counted),
  withoutMetadata: listsOf(WITHOUT_METADATA, counted),
}
/** Finds every row, also if another program has changed rows, so that the counters are wrong. */
export const SCOPE_LISTS = {
  full: listsOf(OBJECT, () => limit),
  withoutMetadata: listsOf(WITHOUT_METADATA, () => limit),
}

/**
 * Lists rows with an end, earliest first. A subquery for each of the terms leaves out those whose row a statement from outside the
 * library deleted. It is no join, which the planner could begin at the other table, and then sort all rows.
 */
const byEnd = (end: 'temporary_until' | 'check_until', condition: string, ofScope = '') => `
     SELECT ${objectColumns('o', { end: 't.ends' })} FROM (
       SELECT t.attempt_id, t.${end} AS ends, t.id FROM {schema}.terms t
       WHERE ${ofScope === '' ? '' : `t.scope >= $5 AND t.scope <= $5 AND `}t.${end} <= $1
         AND (${ofScope}t.${end}, t.id) > (${ofScope === '' ? '' : '$5, '}$2, $3)
         AND (SELECT true FROM {schema}.objects o WHERE o.attempt_id = t.attempt_id AND ${condition})
       ORDER BY ${ofScope}t.${end}, t.id LIMIT ${hidden('$4::int')}
     ) t
     CROSS JOIN LATERAL (SELECT o.* FROM {schema}.objects o WHERE o.attempt_id = t.attempt_id OFFSET 0) o
     ORDER BY t.ends, t.id`
const [isTemporary, isArrived] = [`o.status || '' = 'active'`, `o.status || '' = 'pending'`]

/** The other lists, one statement each. An index serves every condition. */
export const LISTS = {
  listScopes: `SELECT s.* FROM {schema}.list_scopes_v1($1::text, $2::text, $3::text, $4::int) s`,
  listStored: `SELECT n.name, n.object, n.leftover
     FROM {schema}.list_stored_v1($1::text, $2::text, $3::text, $4::text, $5::int, $6::boolean) n`,

  listExpired: `SELECT ${objectColumns('r', { end: null })}
     FROM {schema}.list_expired_v1($1::text, $2::timestamptz, $3::timestamptz, $4::uuid, $5::int) r`,
  listTemporary: byEnd('temporary_until', isTemporary),
  listTemporaryOfScope: byEnd('temporary_until', isTemporary, 't.scope, '),
  listArrived: byEnd('check_until', isArrived),
  listArrivedOfScope: byEnd('check_until', isArrived, 't.scope, '),
  listLeftovers: `SELECT ${LEFTOVER} FROM {schema}.leftovers l
     WHERE (l.since, l.attempt_id) > ($1, $2) ORDER BY l.since, l.attempt_id LIMIT $3`,
  listLeftoversOfScope: `SELECT ${LEFTOVER} FROM {schema}.leftovers l
     WHERE l.scope >= $4 AND l.scope <= $4 AND (l.scope, l.since, l.attempt_id) > ($4, $1, $2)
     ORDER BY l.scope, l.since, l.attempt_id LIMIT ${hidden('$3::int')}`,
  listDueLeftovers: `SELECT ${leftoverColumns('r')} FROM {schema}.list_due_leftovers_v1(
       $1::text, $2::timestamptz, $3::uuid, $4::timestamptz, $5::uuid, $6::int) r`,
}
