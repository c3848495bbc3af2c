import type { ListStoredQuery, ObjectStatus, StoreDriver, StoredItem } from '@svc/db/adapter'
import type { Connection, Values } from './connection.ts'
import {
  LEFTOVER,
  NEVER,
  OBJECT,
  toLeftover,
  toObject,
  WITHOUT_METADATA,
  type StoredLeftover,
  type StoredObject,
} from './rows.ts'
import { countersOf, SCOPE, usageIn, usageOfScope, type ScopeRow } from './usage.ts'

type Reads = Pick<
  Required<StoreDriver>,
  | 'list'
  | 'count'
  | 'usage'
  | 'find'
  | 'findActive'
  | 'findPending'
  | 'findPendingMultipart'
  | 'findById'
  | 'listScopes'
  | 'listStored'
  | 'listExpired'
  | 'listLeftovers'
  | 'listDueLeftovers'
>

/** INDEXED BY fails if the index can't serve the condition, so no statistics can lead to another plan. */
const NAMED_OBJECTS = `objects INDEXED BY objects_name
  WHERE bucket = :bucket AND name >= :from AND name < :prefix || CAST(x'ff' AS TEXT)`
const NAMED_LEFTOVERS = `leftovers INDEXED BY leftovers_name
  WHERE bucket = :bucket AND name >= :from AND name < :prefix || CAST(x'ff' AS TEXT)`

export function readMethods(connection: Connection): Reads {
  /** Returns the record that a condition on `objects` finds. The condition must name at most one. */
  function one(condition: string, values: Values) {
    const row = connection.get<StoredObject>(
      `SELECT ${OBJECT} FROM objects WHERE ${condition} LIMIT 1`,
      values,
    )
    return row ? toObject(row) : null
  }

  /** Returns a page of leftovers in the order of a date. */
  function leftoversBy(date: 'since' | 'dueAt', scope: string | null, page: Values) {
    const index = `leftovers_${scope === null ? '' : 'scope_'}${date === 'since' ? 'since' : 'due'}`
    const ofScope = scope === null ? '' : 'scope = :scope AND'
    const until = date === 'dueAt' ? 'AND dueAt <= :before' : ''
    return connection
      .all<StoredLeftover>(
        `SELECT ${LEFTOVER} FROM leftovers INDEXED BY ${index}
        WHERE ${ofScope} (${date}, attemptId) > (:date, :id) ${until} ORDER BY ${date}, attemptId LIMIT :limit`,
        { ...page, ...(scope !== null && { scope }) },
      )
      .map(toLeftover)
  }

  return {
    async list({ scope, statuses, route, before, limit, withMetadata }) {
      const columns = withMetadata ? OBJECT : WITHOUT_METADATA
      const index = route === null ? 'objects_scope' : 'objects_route'
      const ofRoute = route === null ? '' : 'AND route = :route'
      const olderThan = before === null ? '' : 'AND id < :before'
      // SQLite merges the two branches, each in the order of its index. A condition on both statuses would sort all rows.
      const branches = statuses.map(
        (status) => `SELECT ${columns} FROM objects INDEXED BY ${index}
          WHERE scope = :scope AND status = '${status}' ${ofRoute} ${olderThan}`,
      )
      return connection
        .all<StoredObject>(`${branches.join(' UNION ALL ')} ORDER BY id DESC LIMIT :limit`, {
          ...{ scope, limit },
          ...(route !== null && { route }),
          ...(before !== null && { before }),
        })
        .map(toObject)
    },
    async count({ scope, statuses }) {
      const { files, pending, deleted } = countersOf(connection, scope)
      const counts: Record<ObjectStatus, number> = { active: files, pending, deleted }
      return statuses.reduce((sum, status) => sum + counts[status], 0)
    },
    async usage(scope) {
      return usageOfScope(connection, scope)
    },

    async find({ bucket, key, scope }) {
      const of = (status: ObjectStatus) =>
        `(SELECT seq FROM objects WHERE bucket = :bucket AND key = :key AND status = '${status}' ORDER BY id DESC LIMIT 1)`
      return one(
        `seq = coalesce(${of('active')}, ${of('pending')}, ${of('deleted')}) AND (:scope IS NULL OR scope = :scope)`,
        { bucket, key, scope },
      )
    },
    async findActive({ bucket, key, scope }) {
      return one(
        `bucket = :bucket AND key = :key AND status = 'active' AND (:scope IS NULL OR scope = :scope)`,
        { bucket, key, scope },
      )
    },
    async findPending({ bucket, key, scope, id, uploadId }) {
      return one(
        `bucket = :bucket AND key = :key AND status = 'pending' AND (:scope IS NULL OR scope = :scope)
          AND (:id IS NULL OR id = :id) AND (:uploadId IS NULL OR uploadId = :uploadId)`,
        { bucket, key, scope, id, uploadId },
      )
    },
    async findPendingMultipart({ bucket, key, fileSize, now }) {
      return one(
        `bucket = :bucket AND key = :key AND status = 'pending' AND uploadId IS NOT NULL
          AND declaredSize = :fileSize AND expiresAt > :now`,
        { bucket, key, fileSize, now: now.getTime() },
      )
    },
    async findById({ id, scope }) {
      return one(`id = :id AND (:scope IS NULL OR scope = :scope) ORDER BY status = 'deleted'`, { id, scope })
    },

    async listScopes({ limit, after }) {
      const rows = connection.all<ScopeRow>(
        `SELECT ${SCOPE} FROM scopes WHERE scope > :after ORDER BY scope LIMIT :limit`,
        { after: after ?? '', limit },
      )
      return rows.map((row) => ({
        scope: row.scope,
        usage: usageIn(row),
        counts: { active: row.files, pending: row.pending, deleted: row.deleted },
      }))
    },
    async listStored(query) {
      // One moment: an object that becomes a leftover between two reads would be in neither.
      return connection.read(() => storedItems(query))
    },

    async listExpired({ scope, before, limit, after }) {
      const index = scope === null ? 'objects_expiry' : 'objects_scope_expiry'
      const ofScope = scope === null ? '' : 'scope = :scope AND'
      const rows = connection.all<StoredObject>(
        `SELECT ${OBJECT} FROM objects INDEXED BY ${index}
        WHERE ${ofScope} (expiresAt, id) > (:date, :id) AND expiresAt <= :before ORDER BY expiresAt, id LIMIT :limit`,
        {
          ...{ before: before.getTime(), limit, ...(scope !== null && { scope }) },
          ...{ date: after?.expiresAt.getTime() ?? NEVER, id: after?.id ?? '' },
        },
      )
      return rows.map(toObject)
    },
    async listLeftovers({ scope, limit, after }) {
      return leftoversBy('since', scope, {
        ...{ date: after?.since.getTime() ?? NEVER, id: after?.attemptId ?? '', limit },
      })
    },
    async listDueLeftovers({ scope, dueBefore, limit, after }) {
      const date = after?.dueAt?.getTime() ?? NEVER
      return leftoversBy('dueAt', scope, {
        ...{ date, id: after?.attemptId ?? '', before: dueBefore.getTime(), limit },
      })
    },
  }

  function storedItems({ bucket, prefix, after, limit }: ListStoredQuery): StoredItem[] {
    // No name follows `after` more closely than the one with a NUL at its end, and no UTF-8 contains the byte FF.
    const from = [prefix ?? '', after === null ? '' : `${after}\0`].sort(compareBytes)[1] ?? ''
    const range = { bucket, from, prefix: prefix ?? '' }
    const last = connection.get<{ name: string }>(
      `SELECT name FROM ${NAMED_OBJECTS} UNION ALL SELECT name FROM ${NAMED_LEFTOVERS} ORDER BY name LIMIT 1 OFFSET :limit - 1`,
      { ...range, limit },
    )
    const upTo = last ? 'AND name <= :last' : ''
    const page = { ...range, ...(last && { last: last.name }) }
    const objects = connection.all<StoredObject>(`SELECT ${OBJECT} FROM ${NAMED_OBJECTS} ${upTo}`, page)
    const leftovers = connection.all<StoredLeftover>(
      `SELECT ${LEFTOVER} FROM ${NAMED_LEFTOVERS} ${upTo}`,
      page,
    )
    return [
      ...objects.map(toObject).map((object) => ({ storageKey: object.storageKey ?? object.key, object })),
      ...leftovers
        .map(toLeftover)
        .map((leftover) => ({ storageKey: leftover.storageKey ?? leftover.key, leftover })),
    ].sort((a, b) => compareBytes(a.storageKey, b.storageKey))
  }
}

/** Compares as SQLite does. JavaScript compares UTF-16, which sorts emoji before some other characters. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
