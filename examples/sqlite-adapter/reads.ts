import type { Leftover, ListStoredQuery, ObjectStatus, StorageObject, StoreDriver } from '@svc/db/adapter'
import type { Connection } from './connection.ts'
import { countersOf, SCOPE, usageIn, type Counters } from './scopes.ts'
import { LEFTOVER, NEVER, OBJECT, WITHOUT_METADATA } from './values.ts'

export const OF_SCOPE = '(:scope IS NULL OR scope = :scope)'
export const rowAt = (status: ObjectStatus) => `bucket = :bucket AND key = :key AND status = '${status}'`
const seqAt = (status: ObjectStatus) =>
  `(SELECT seq FROM objects WHERE ${rowAt(status)} ORDER BY id DESC LIMIT 1)`

/** No UTF-8 contains the byte FF, so it ends the names with a prefix. */
const within = (column: string) => `${column} >= :from AND ${column} < :prefix || CAST(x'ff' AS TEXT)`
const NAMED_OBJECTS = `objects INDEXED BY objects_name WHERE bucket = :bucket AND ${within('name')}`
const NAMED_LEFTOVERS = `leftovers INDEXED BY leftovers_name WHERE bucket = :bucket AND ${within('name')}`

const EXPIRED = { columns: OBJECT, table: 'objects', date: 'expiresAt', id: 'id' } as const
const LEFT = { columns: LEFTOVER, table: 'leftovers', date: 'since', id: 'attemptId' } as const

export function readMethods(connection: Connection) {
  function one(condition: string, query: object): StorageObject | null {
    const text = `SELECT ${OBJECT} FROM objects WHERE ${condition} LIMIT 1`
    return connection.get<StorageObject>(text, query) ?? null
  }

  return {
    async list(query) {
      const { statuses, route, before, withMetadata } = query
      // SQLite merges the branches, each in the order of its index. One condition on both statuses would sort all rows.
      const branches = statuses.map(
        (status) => `SELECT ${withMetadata ? OBJECT : WITHOUT_METADATA}
          FROM objects INDEXED BY ${route === null ? 'objects_scope' : 'objects_route'}
          WHERE scope = :scope AND status = '${status}' ${route === null ? '' : 'AND route = :route'}
            ${before === null ? '' : 'AND id < :before'}`,
      )
      return connection.all(`${branches.join(' UNION ALL ')} ORDER BY id DESC LIMIT :limit`, query)
    },
    async count({ scope, statuses }) {
      const { files: active, pending, deleted } = countersOf(connection, scope)
      const counts = { active, pending, deleted }
      return statuses.reduce((sum, status) => sum + counts[status], 0)
    },
    usage: async (scope) => usageIn(countersOf(connection, scope)),

    async find(query) {
      const seq = `coalesce(${seqAt('active')}, ${seqAt('pending')}, ${seqAt('deleted')})`
      return one(`seq = ${seq} AND ${OF_SCOPE}`, query)
    },
    findActive: async (query) => one(`${rowAt('active')} AND ${OF_SCOPE}`, query),
    async findPending(query) {
      const isNamed = '(:id IS NULL OR id = :id) AND (:uploadId IS NULL OR uploadId = :uploadId)'
      return one(`${rowAt('pending')} AND ${OF_SCOPE} AND ${isNamed}`, query)
    },
    async findPendingMultipart(query) {
      const matches = 'uploadId IS NOT NULL AND declaredSize = :fileSize AND expiresAt > :now'
      return one(`${rowAt('pending')} AND ${matches}`, query)
    },
    findById: async (query) => one(`id = :id AND ${OF_SCOPE} ORDER BY status = 'deleted'`, query),

    async listScopes({ limit, ...names }) {
      const text = `SELECT ${SCOPE} FROM scopes WHERE ${within('scope')} ORDER BY scope LIMIT :limit`
      const rows = connection.all<Counters & { scope: string }>(text, { limit, ...rangeOf(names) })
      return rows.map((row) => {
        const { scope, files: active, pending, deleted } = row
        return { scope, usage: usageIn(row), counts: { active, pending, deleted } }
      })
    },
    // One moment: an object that becomes a leftover between two reads would be in neither.
    listStored: async (query) => connection.read(() => storedItems(query)),

    async listExpired({ scope, limit, before: until, after }) {
      return pageByDate(connection, EXPIRED, { scope, limit, until, after: [after?.expiresAt, after?.id] })
    },
    async listLeftovers({ scope, limit, after }) {
      return pageByDate(connection, LEFT, { scope, limit, after: [after?.since, after?.attemptId] })
    },
    async listDueLeftovers({ scope, limit, dueBefore: until, after }) {
      const page = { scope, limit, until, after: [after?.dueAt, after?.attemptId] } as const
      return pageByDate(connection, { ...LEFT, date: 'dueAt' }, page)
    },
  } satisfies Partial<StoreDriver>

  function storedItems({ bucket, limit, withMetadata, ...names }: ListStoredQuery) {
    const range = { bucket, ...rangeOf(names), skipped: limit - 1 }
    const inOrder = `SELECT name FROM ${NAMED_OBJECTS} UNION ALL SELECT name FROM ${NAMED_LEFTOVERS} ORDER BY name`
    const last = connection.get<{ name: string }>(`${inOrder} LIMIT 1 OFFSET :skipped`, range)
    const upTo = last ? 'AND name <= :last' : ''
    const page = { ...range, last: last?.name }
    const columns = withMetadata ? OBJECT : WITHOUT_METADATA
    const objects = connection.all<StorageObject>(`SELECT ${columns} FROM ${NAMED_OBJECTS} ${upTo}`, page)
    const leftovers = connection.all<Leftover>(`SELECT ${LEFTOVER} FROM ${NAMED_LEFTOVERS} ${upTo}`, page)
    return [
      ...objects.map((object) => ({ storageKey: object.storageKey ?? object.key, object })),
      ...leftovers.map((leftover) => ({ storageKey: leftover.storageKey ?? leftover.key, leftover })),
    ].sort((a, b) => compareBytes(a.storageKey, b.storageKey))
  }
}

/** Returns the values of `within`: names with this prefix that come after `after`. */
function rangeOf({ prefix, after }: Pick<ListStoredQuery, 'prefix' | 'after'>) {
  // The first name after `after` would be `after` and a NUL.
  const [, from] = [prefix ?? '', after === null ? '' : `${after}\0`].sort(compareBytes)
  return { from, prefix: prefix ?? '' }
}

type Order = Readonly<Record<'columns' | 'table' | 'date' | 'id', string>>

interface Page {
  readonly scope: string | null
  readonly limit: number
  readonly after?: readonly [date: Date | null | undefined, id: string | undefined]
  readonly until?: Date
}

/** Lists by a date and an id. The tables have an index for each such list, over all scopes and within one. */
export function pageByDate<Row>(
  connection: Connection,
  { columns, table, date, id }: Order,
  page: Page,
): Row[] {
  const { scope, limit, after = [], until = Number.MAX_SAFE_INTEGER } = page
  const [index, ofScope] = scope === null ? [date, ''] : [`${date}_of_scope`, 'scope = :scope AND']
  return connection.all(
    // INDEXED BY keeps the plan, whatever the statistics say.
    `SELECT ${columns} FROM ${table} INDEXED BY ${table}_${index}
    WHERE ${ofScope} (${date}, ${id}) > (:afterDate, :afterId) AND ${date} <= :until ORDER BY ${date}, ${id} LIMIT :limit`,
    { scope, limit, afterDate: after[0] ?? NEVER, afterId: after[1] ?? '', until },
  )
}

/** Compares as SQLite does. JavaScript compares UTF-16, which sorts emoji before some other characters. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
