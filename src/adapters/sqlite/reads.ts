import { compareBytes, endOfPrefix } from '../../core/names.js'
import type { ListScopesQuery, ListStoredQuery, StoreDriver } from '../../core/store/driver.js'
import {
  OBJECT_STATUSES,
  type ObjectStatus,
  type StorageObject,
  type StoredItem,
} from '../../core/store/records.js'
import type { Connection } from './connection/connection.js'
import type { Statement, Values } from './connection/statement.js'
import { dateOrdered } from './dated-lists.js'
import { LEFTOVER, OBJECT, readLeftover, readObject, STORED_NAME, WITHOUT_METADATA } from './rows.js'
import { COUNTERS, readSummary, type ScopeUsages } from './usage.js'

export const OF_SCOPE = '(:scope IS NULL OR scope = :scope)'
export const LIVE_AT =
  'INDEXED BY {objects_live} WHERE bucket = :bucket AND key = :key AND deleted_at IS NULL'
const liveAt = (status: 'active' | 'pending') => `${LIVE_AT} AND status = '${status}'`
const NEWEST_DELETED = `(SELECT seq FROM {objects} INDEXED BY {objects_history}
  WHERE bucket = :bucket AND key = :key AND deleted_at IS NOT NULL ORDER BY id DESC LIMIT 1)`
const seqAt = (status: 'active' | 'pending') => `(SELECT seq FROM {objects} ${liveAt(status)})`
const LIVE_WITH_ID = `(SELECT seq FROM {objects} INDEXED BY {objects_id}
  WHERE id = :id AND deleted_at IS NULL AND ${OF_SCOPE} LIMIT 1)`
const DELETED_WITH_ID = `(SELECT seq FROM {objects} INDEXED BY {objects_deleted_id}
  WHERE id = :id AND deleted_at IS NOT NULL AND ${OF_SCOPE} ORDER BY deleted_at LIMIT 1)`

const within = (column: string) => `${column} >= :from AND ${column} < :end`
const STORED_OBJECTS = `{objects} INDEXED BY {objects_stored}
  WHERE bucket = :bucket AND deleted_at IS NULL AND ${within(STORED_NAME)}`
const STORED_LEFTOVERS = `{leftovers} INDEXED BY {leftovers_stored} WHERE bucket = :bucket AND ${within(STORED_NAME)}`

const LIVE: readonly ObjectStatus[] = ['pending', 'active']

/** Attempts by the time until which they can be confirmed, and those that have arrived by the end of their check. */
export const BY_EXPIRY = {
  date: 'expires_at',
  condition: 'expires_at IS NOT NULL AND arrived_at IS NULL',
} as const
const BY_ARRIVAL = { date: 'expires_at', index: 'arrived', condition: 'arrived_at IS NOT NULL' } as const
const BY_END = { date: 'temporary_until', condition: 'temporary_until IS NOT NULL' } as const

/** The statements of a list, by what it filters. */
type Lists = Readonly<Record<string, Statement>>

export function readMethods(connection: Connection, usages: ScopeUsages) {
  const { read, readTogether, statement } = {
    read: connection.read,
    readTogether: connection.readTogether,
    statement: (text: string) => connection.statement(text),
  }
  const one = (where: string) => statement(`SELECT ${OBJECT} FROM {objects} ${where}`)
  const finds = {
    find: one(
      `WHERE seq = coalesce(${seqAt('active')}, ${seqAt('pending')}, ${NEWEST_DELETED}) AND ${OF_SCOPE}`,
    ),
    active: one(`${liveAt('active')} AND ${OF_SCOPE}`),
    pending: one(
      `${liveAt('pending')} AND ${OF_SCOPE} AND (:id IS NULL OR id = :id) AND (:uploadId IS NULL OR upload_id = :uploadId)`,
    ),
    multipart: one(
      `${liveAt('pending')} AND upload_id IS NOT NULL AND declared_size = :fileSize AND expires_at > :now`,
    ),
    byId: one(`WHERE seq = coalesce(${LIVE_WITH_ID}, ${DELETED_WITH_ID})`),
  }
  const lists = listStatements(connection)
  const objectsBy = { columns: OBJECT, table: 'objects', id: 'id' } as const
  const expired = dateOrdered(connection, { ...objectsBy, ...BY_EXPIRY })
  const arrived = dateOrdered(connection, { ...objectsBy, ...BY_ARRIVAL })
  const temporary = dateOrdered(connection, { ...objectsBy, ...BY_END })
  const since = dateOrdered(connection, LEFT_BY('since'))
  const due = dateOrdered(connection, LEFT_BY('due_at'))
  const scopes = statement(
    `SELECT scope, ${COUNTERS} FROM {scope_usage} WHERE ${within('scope')} ORDER BY scope LIMIT :limit`,
  )
  const lastStored = statement(
    `SELECT ${STORED_NAME} AS name FROM ${STORED_OBJECTS}
      UNION ALL SELECT ${STORED_NAME} FROM ${STORED_LEFTOVERS} ORDER BY name LIMIT 1 OFFSET :skipped`,
  )
  const storedObjects = statement(`SELECT ${OBJECT} FROM ${STORED_OBJECTS}`)
  const storedWithoutMetadata = statement(`SELECT ${WITHOUT_METADATA} FROM ${STORED_OBJECTS}`)
  const storedLeftovers = statement(`SELECT ${LEFTOVER} FROM ${STORED_LEFTOVERS}`)

  const found = (find: Statement, values: Values): Promise<StorageObject | null> =>
    read(() => {
      const cells = find.first(values)
      return cells ? readObject(cells) : null
    })

  function storedItems({ bucket, limit, withMetadata, ...names }: ListStoredQuery): StoredItem[] {
    const range = { bucket, ...rangeOf(names) }
    const last = lastStored.first({ ...range, skipped: limit - 1 })?.[0]
    // All items with the name of the last one belong to the page. No name contains NUL.
    const page = last === undefined ? range : { ...range, end: `${last}\0` }
    const objects = withMetadata ? storedObjects : storedWithoutMetadata
    return [
      ...objects
        .rows(page)
        .map(readObject)
        .map((object) => ({ storageKey: object.storageKey ?? object.key, object })),
      ...storedLeftovers
        .rows(page)
        .map(readLeftover)
        .map((leftover) => ({ storageKey: leftover.storageKey ?? leftover.key, leftover })),
    ].sort((a, b) => compareBytes(a.storageKey, b.storageKey))
  }

  return {
    list({ scope, statuses, route, before, limit, withMetadata }) {
      const values = { scope, route, before, limit }
      const list = lists[nameOf(statuses, { route, before, withMetadata })]!
      return read(() => list.rows(values).map(readObject))
    },
    count: ({ scope, statuses }) => read(() => usages.count(scope, statuses)),
    usage: (scope) => read(() => usages.usage(scope)),

    find: ({ bucket, key, scope }) => found(finds.find, { bucket, key, scope }),
    findActive: ({ bucket, key, scope }) => found(finds.active, { bucket, key, scope }),
    findPending: ({ bucket, key, scope, id, uploadId }) =>
      found(finds.pending, { bucket, key, scope, id, uploadId }),
    findPendingMultipart: ({ bucket, key, fileSize, now }) =>
      found(finds.multipart, { bucket, key, fileSize, now }),
    findById: ({ id, scope }) => found(finds.byId, { id, scope }),

    listScopes: ({ limit, ...names }) =>
      read(() => scopes.rows({ limit, ...rangeOf(names) }).map(readSummary)),
    // One moment: an object that becomes a leftover between two reads would be in neither.
    listStored: (query) => readTogether(() => storedItems(query)),

    listExpired: ({ scope, limit, before: until, after }) =>
      read(() =>
        expired({ scope, limit, until, afterDate: after?.expiresAt, afterId: after?.id }).map(readObject),
      ),
    listArrived: ({ scope, limit, dueBefore, after }) =>
      read(() =>
        arrived({
          ...{ scope, limit, until: dueBefore ?? undefined, afterDate: after?.expiresAt, afterId: after?.id },
        }).map(readObject),
      ),
    listTemporary: ({ scope, limit, before: until, after }) =>
      read(() =>
        temporary({ scope, limit, until, afterDate: after?.temporaryUntil, afterId: after?.id }).map(
          readObject,
        ),
      ),
    listLeftovers: ({ scope, limit, after }) =>
      read(() =>
        since({ scope, limit, afterDate: after?.since, afterId: after?.attemptId }).map(readLeftover),
      ),
    listDueLeftovers: ({ scope, limit, dueBefore: until, after }) =>
      read(() =>
        due({ scope, limit, until, afterDate: after?.dueAt, afterId: after?.attemptId }).map(readLeftover),
      ),
  } satisfies Partial<StoreDriver>
}

const LEFT_BY = (date: 'since' | 'due_at') => ({
  columns: LEFTOVER,
  table: 'leftovers',
  date,
  id: 'attempt_id',
})

interface ListFilters {
  readonly route: string | null
  readonly before: string | null
  readonly withMetadata: boolean
}

function nameOf(statuses: readonly ObjectStatus[], { route, before, withMetadata }: ListFilters): string {
  const flags = (route === null ? 0 : 1) + (before === null ? 0 : 2) + (withMetadata ? 4 : 0)
  return (statuses.length > 1 ? 'live' : statuses[0]!) + flags
}

/**
 * Builds the statements of all kinds of pages. SQLite merges the branches of pending and active rows, each in the order of its index: one
 * condition on both statuses would sort all rows. `INDEXED BY` keeps the plan, whatever the statistics say.
 */
function listStatements(connection: Connection): Lists {
  const lists: Record<string, Statement> = {}
  for (const statuses of [LIVE, ...OBJECT_STATUSES.map((status) => [status])]) {
    for (const route of [null, '']) {
      for (const before of [null, '']) {
        for (const withMetadata of [true, false]) {
          const [index, ofRoute] =
            route === null ? ['objects_by_scope', ''] : ['objects_by_route', 'AND route = :route']
          const branches = statuses.map(
            (
              status,
            ) => `SELECT ${withMetadata ? OBJECT : WITHOUT_METADATA} FROM {objects} INDEXED BY {${index}}
              WHERE scope = :scope AND status = '${status}' ${ofRoute} ${before === null ? '' : 'AND id < :before'}`,
          )
          lists[nameOf(statuses, { route, before, withMetadata })] = connection.statement(
            `${branches.join(' UNION ALL ')} ORDER BY id DESC LIMIT :limit`,
          )
        }
      }
    }
  }
  return lists
}

/** Returns the values of `within`: names with this prefix that come after `after`. */
function rangeOf({ prefix, after }: Pick<ListScopesQuery, 'prefix' | 'after'>) {
  const start = prefix ?? ''
  // The first name after `after` would be `after` and a NUL.
  const next = after === null ? '' : `${after}\0`
  return { from: compareBytes(start, next) < 0 ? next : start, end: endOfPrefix(start) }
}
