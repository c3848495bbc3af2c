import { endOfPrefix } from '../../core/names.js'
import { REJECTION_SECONDS } from '../../core/store/inputs/index.js'
import { attemptRow } from '../../core/store/lifecycle/plans.js'
import type { StorageObject } from '../../core/store/records.js'
import type { StoreDriver } from '../../core/store/driver.js'
import type * as outcomes from '../../core/store/outcomes.js'
import { NO_USAGE } from '../../core/store/lifecycle/usage.js'
import { createBatchedWrites } from './batching.js'
import type { Database, PostgresValue, Statement, TextRow } from './connection/database.js'
import { wasReported } from './connection/failures.js'
import { createCalls, createReadPoolCall } from './connection/retries.js'
import { createEventMethods } from './events.js'
import type { IndexMarks } from './index-marks.js'
import { createLeftoverMethods } from './leftovers.js'
import { FROM_START } from './low-water-mark.js'
import { migrate } from './migrate/migrate.js'
import { whileWatched } from './migrate/waiting.js'
import { noticingWrites } from './noticed-writes.js'
import { statementsOf, type SchemaName } from './sql/statement.js'
import { SCHEMA } from './sql/schema.js'
import { verify } from './migrate/verify.js'
import {
  AFTER_ALL_DATES,
  readFirst,
  readLeftover,
  readNumber,
  readObject,
  readObjects,
  startText,
} from './sql/rows.js'
import { ARGUMENTS, valuesOf } from './sql/arguments.js'
import { FIRST_ID, LAST_ID } from './sql/lists.js'
import { readCounts, readDifferences, readUsage } from './sql/usage-checks.js'
import { readRefusal, readWriteResult, type WriteResult } from './sql/writes.js'

/** Maximum keys that one transaction of a purge locks: all sessions share the lock table of the server. */
const PURGE_BATCH_SIZE = 200

export interface PostgresDriverOptions {
  readonly database: Database
  /** Serves listings and counts only, and may lag behind. */
  readonly readDatabase: Database
  readonly schema: SchemaName
  /** Whether events are on after `migrate()`. `null`: as they are. */
  readonly events: boolean | null
  readonly marks: IndexMarks
}

/** Creates the driver. Each call is one statement, and concurrent writes of a scope share one. */
export function createPostgresDriver(options: PostgresDriverOptions): StoreDriver {
  const { database, readDatabase, schema, events, marks } = options
  const statements = statementsOf(schema)
  const { lists, reads, writes } = statements
  const calls = createCalls(database)
  const { idempotent, once } = calls
  const callReplica = readDatabase === database ? idempotent : createReadPoolCall(readDatabase, idempotent)
  const batchedWrites = createBatchedWrites(calls, statements, database.spareConnections)

  const callWithin = (
    scope: string | null,
    [all, ofScope]: readonly [Statement, Statement],
    values: readonly PostgresValue[],
  ) => (scope === null ? idempotent(all, values) : idempotent(ofScope, [...values, scope]))
  const readOne = async (statement: Statement, values: readonly PostgresValue[]) =>
    firstObject(await idempotent(statement, values))
  /** Changes an object into what the command describes, so a call whose response was lost is repeated. */
  const change = async (statement: Statement, values: readonly PostgresValue[]): Promise<WriteResult> =>
    readWriteResult((await idempotent(statement, values))[0]?.[0])

  /** Compares a scope, or all of them, page by page. */
  async function* differingRows(scope: string | null): AsyncGenerator<TextRow, void> {
    if (scope !== null) return yield* await idempotent(statements.usage.checkScope, [scope])
    for (let after: string | null = ''; ;) {
      const rows: readonly TextRow[] = await idempotent(statements.usage.check, [after])
      after = rows[0]![0]!
      if (after === null) return
      // A page without a difference has one row, with its end alone.
      for (const row of rows) if (row[1] !== null) yield row.slice(1)
    }
  }

  const driver: StoreDriver = {
    ...createEventMethods(calls, statements.events, marks),
    ...createLeftoverMethods(calls, statements, marks),

    async list({ scope, statuses, route, before, limit, withMetadata, fromPrimary }) {
      const { countedScopeLists, scopeLists } = statements
      const isLive = statuses.length > 1
      // Jobs that end or move everything of a scope read from the primary, and must find every row.
      const isCounted = !fromPrimary && (isLive || statuses[0] !== 'active')
      const ofStore = isCounted ? countedScopeLists : scopeLists
      const ofScope = withMetadata ? ofStore.full : ofStore.withoutMetadata
      const [all, ofRoute] = isLive
        ? [ofScope.listLive, ofScope.listLiveRoute]
        : [ofScope.list, ofScope.listRoute]
      const values = [scope, before ?? LAST_ID, limit, ...(isLive ? [] : statuses)]
      const callList = fromPrimary ? idempotent : callReplica
      const rows = readObjects(
        route === null ? await callList(all, values) : await callList(ofRoute, [...values, route]),
      )
      return isLive ? rows.sort(byNewest).slice(0, limit) : rows
    },

    async count({ scope, statuses }) {
      const [row] = await callReplica(reads.usage, [scope])
      if (!row) return 0
      const counts = readCounts(row, 0)
      return statuses.reduce((sum, status) => sum + counts[status], 0)
    },

    async usage(scope) {
      const [row] = await idempotent(reads.usage, [scope])
      return row ? readUsage(row, 0) : { ...NO_USAGE }
    },

    find: async ({ bucket, key, scope }) => readOne(reads.find, [bucket, key, scope]),
    findActive: async ({ bucket, key, scope }) => readOne(reads.findActive, [bucket, key, scope]),

    findPending: async ({ bucket, key, id, uploadId, scope }) =>
      readOne(reads.findPending, [bucket, key, id, uploadId, scope]),

    findPendingMultipart: async ({ bucket, key, fileSize, now }) =>
      readOne(reads.findPendingMultipart, [bucket, key, fileSize, now.toISOString()]),

    async reserve(command) {
      const result = await batchedWrites.reserve(command)
      const { outcome, object, otherScope } = result
      if (outcome !== 'reserved') return readRefusal<outcomes.ReserveRefusal>(result, command.quota)
      // The row of a new attempt follows from the command, so the database does not return it.
      const row = object ? readObject(object)! : attemptRow(command)
      return { outcome, row, scopes: otherScope ? [command.scope, otherScope] : [command.scope] }
    },

    async confirm(command) {
      const result = await batchedWrites.confirm(command)
      const { outcome, object, isRepeat = false, replaced, reason } = result
      if (outcome === 'rejected') return { outcome, reason: reason ?? null }
      if (outcome !== 'confirmed') return readRefusal<outcomes.ConfirmRefusal>(result, command.quota)
      const row = readObject(object!)!
      return { outcome, row, isRepeat, replaced: replaced ? readObject(replaced) : null }
    },

    async setUploadId(command) {
      const [result] = await idempotent(writes.setUploadId, valuesOf(ARGUMENTS.setUploadId, command))
      const outcome = result![0] as outcomes.SetUploadIdOutcome['outcome']
      if (outcome !== 'set') return { outcome }
      return { outcome: 'set', row: readObject(result!, 1)! }
    },

    async release(command) {
      const values = valuesOf(ARGUMENTS.release, { unlessArrived: false, ...command })
      return { row: firstObject(await once(writes.release, values)) }
    },
    async remove(command) {
      return { row: firstObject(await once(writes.remove, valuesOf(ARGUMENTS.remove, command))) }
    },

    async update(command) {
      const { outcome, object, got } = await change(writes.update, valuesOf(ARGUMENTS.update, command))
      if (outcome !== 'updated') return { outcome, got: readNumber(got) } as outcomes.MetadataRefusal
      return { outcome, row: object ? readObject(object) : null }
    },

    async transfer(command) {
      const result = await change(writes.transfer, valuesOf(ARGUMENTS.transfer, command))
      const { outcome, object } = result
      if (outcome !== 'transferred') return readRefusal<outcomes.TransferRefusal>(result, command.quota)
      return { outcome, row: object ? readObject(object) : null }
    },

    async adopt(command) {
      const result = await batchedWrites.adopt(command)
      const { outcome, object, otherScope } = result
      const row = object ? readObject(object) : null
      if (outcome === 'known') return { outcome, object: row }
      if (outcome !== 'adopted') return readRefusal<outcomes.AdoptRefusal>(result)
      return { outcome, row: row!, scopes: otherScope ? [row!.scope, otherScope] : [row!.scope] }
    },

    async keep({ scope, objects, now }) {
      const ids = arrayText(objects.map(({ id }) => id))
      const versions = objects.some(({ attemptId }) => attemptId !== null)
        ? arrayText(objects.map(({ attemptId }) => attemptId))
        : null
      // A repeat of a call that took effect returns the same rows, because none has an end any more.
      const result = await change(writes.keep, [scope, ids, versions, now.toISOString()])
      const { outcome, objects: rows, index, earlier, indexes } = result
      if (outcome === 'repeated') return { outcome, index: index!, earlier: earlier! }
      if (outcome === 'missing') return { outcome, indexes: indexes! }
      return { outcome: 'kept', rows: readObjects(rows!) }
    },

    async listTemporary({ scope, before, limit, after }) {
      const list = async (from: string, afterId: string) => {
        const values = [before.toISOString(), from, afterId, limit]
        return readObjects(await callWithin(scope, [lists.listTemporary, lists.listTemporaryOfScope], values))
      }
      if (after?.temporaryUntil) return list(after.temporaryUntil.toISOString(), after.id)
      const { result } = await marks.within(scope).temporary.look(before.getTime(), async (from) => {
        const found = await list(startText(from), FIRST_ID)
        return { result: found, first: found[0]?.temporaryUntil?.getTime() ?? null }
      })
      return result
    },

    async endTemporary({ objects, mode, endedBy, now }) {
      const named = objects.map(({ bucket, key, id, attemptId, temporaryUntil, isKept }, index) => ({
        ...{ place: index + 1, bucket, key, id, attempt_id: attemptId },
        ...{ temporary_until: temporaryUntil, is_kept: isKept },
      }))
      const values = [JSON.stringify(named), mode, endedBy.toISOString(), now.toISOString()]
      const rows = await once(writes.endTemporary, values)
      return { rows: rows.map(([object]) => readObject(JSON.parse(object!) as TextRow)!) }
    },

    async listArrived({ scope, dueBefore, limit, after }) {
      const list = async (from: string, afterId: string) => {
        const values = [dueBefore?.toISOString() ?? AFTER_ALL_DATES, from, afterId, limit]
        return readObjects(await callWithin(scope, [lists.listArrived, lists.listArrivedOfScope], values))
      }
      if (after?.expiresAt) return list(after.expiresAt.toISOString(), after.id)
      const upto = dueBefore?.getTime() ?? Infinity
      const { result } = await marks.within(scope).arrived.look(upto, async (from) => {
        const found = await list(startText(from), FIRST_ID)
        return { result: found, first: found[0]?.expiresAt?.getTime() ?? null }
      })
      return result
    },

    async reject(command) {
      const values = valuesOf(ARGUMENTS.reject, command)
      const hourAgo = command.now.getTime() - REJECTION_SECONDS * 1000
      const { result } = await marks.forgotten.look(hourAgo, async (from) => {
        const rows = await once(writes.reject, [...values, startText(from)])
        const row = rows[0] ? readObject(rows[0], 1) : null
        // Without a rejection, no others were looked for.
        return { result: row, first: row === null ? from : readFirst(rows, 0) }
      })
      return { row: result }
    },

    findById: async ({ id, scope }) => readOne(reads.findById, [id, scope]),

    async listScopes({ prefix, after, limit }) {
      // No scope is empty.
      const rows = await idempotent(lists.listScopes, [...namesWithin(prefix), after ?? '', limit])
      return rows.map((row) => ({ scope: row[0]!, usage: readUsage(row, 1), counts: readCounts(row, 1) }))
    },

    async listStored({ bucket, prefix, after, limit, withMetadata }) {
      const values = [bucket, ...namesWithin(prefix), after ?? '', limit, withMetadata]
      const rows = await idempotent(lists.listStored, values)
      return rows.map(([name, object, leftover]) => {
        const storageKey = name!
        return object == null
          ? { storageKey, leftover: readLeftover(JSON.parse(leftover!) as TextRow) }
          : { storageKey, object: readObject(JSON.parse(object) as TextRow)! }
      })
    },

    async listExpired({ scope, before, limit, after }) {
      const list = async (from: string, afterId: string) => {
        const values = [scope, before.toISOString(), from, afterId, limit]
        return readObjects(await idempotent(lists.listExpired, values))
      }
      if (after) return list(after.expiresAt.toISOString(), after.id)
      const looked = await marks.within(scope).expired.look(before.getTime(), async (from) => {
        const result = await list(startText(from), FIRST_ID)
        return { result, first: result[0]?.expiresAt?.getTime() ?? null }
      })
      return looked.result
    },

    async purgeExpired({ scope, before, limit, now }) {
      const rows: StorageObject[] = []
      let isUncertain = false
      while (rows.length < limit) {
        const batchSize = Math.min(PURGE_BATCH_SIZE, limit - rows.length)
        const values = [scope, before.toISOString(), batchSize, now.toISOString()]
        try {
          const { result } = await marks.within(scope).expired.look(before.getTime(), async (from) => {
            const result = await once(writes.purgeExpired, [...values, startText(from)])
            return { result, first: readFirst(result, 0) }
          })
          // A row without an id only tells that other transactions hold what has expired.
          const purged = result.flatMap((row) => readObject(row, 1) ?? [])
          rows.push(...purged)
          if (purged.length < batchSize) break
        } catch (error) {
          // Return the rows that are gone, or no caller would learn of them. The next call will throw the error.
          if (rows.length === 0) throw error
          isUncertain = !wasReported(error)
          break
        }
      }
      return { rows, isUncertain }
    },

    async purgeDeleted({ id, scope, before, limit }) {
      const purge = async (from: number, rejectedFrom: number) => {
        const values = [id, scope, before.toISOString(), limit, startText(from), startText(rejectedFrom)]
        const rows = await once(writes.purgeDeleted, values)
        // A row without a number only tells that other transactions hold what is left.
        const result = rows.reduce((sum, row) => sum + readNumber(row[1] ?? '0'), 0)
        return { result, first: readFirst(rows, 0) }
      }
      if (id !== null) return { dropped: (await purge(FROM_START, FROM_START)).result }
      const { deleted, rejections } = marks.within(scope)
      const { result } = await rejections.look(before.getTime(), async (rejectedFrom) => {
        const purged = await deleted.look(before.getTime(), (from) => purge(from, rejectedFrom))
        // All rejections up to the date are gone.
        return { result: purged.result, first: null }
      })
      return { dropped: result }
    },

    migrate: async (given = {}) =>
      whileWatched(database, given, (watched) => migrate(watched, schema, SCHEMA, events)),

    verify: async () => verify(database, schema),

    async checkUsage(scope) {
      const differing: TextRow[] = []
      for await (const row of differingRows(scope)) differing.push(row)
      return readDifferences(differing)
    },

    async repairUsage(scope) {
      const repaired: TextRow[] = []
      // Each scope has its own transaction, so its writers wait for its recount only.
      for await (const [name] of scope === null ? differingRows(null) : [[scope]]) {
        repaired.push(...(await idempotent(statements.usage.repairScope, [name!])))
      }
      return readDifferences(repaired)
    },

    async ping() {
      await idempotent({ name: 'svc_db_ping', text: 'SELECT 1' }, [])
    },

    async close() {
      // The caller owns the pool.
    },
  }
  return noticingWrites(driver, marks)
}

/** Returns the first name with this prefix, and the exclusive end of these names. `null` is the prefix of all. */
function namesWithin(prefix: string | null): readonly [first: string, end: string] {
  return [prefix ?? '', endOfPrefix(prefix ?? '')]
}

const byNewest = (a: StorageObject, b: StorageObject) => Number(a.id < b.id) - Number(a.id > b.id)

/** An array of ids as Postgres reads it. */
const arrayText = (ids: readonly (string | null)[]) => `{${ids.map((id) => id ?? 'NULL').join(',')}}`

function firstObject([row]: readonly TextRow[]): StorageObject | null {
  return row ? readObject(row) : null
}
