import { keyId } from '../../core/names.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import type { StorageObject, UsageDifference } from '../../core/store/records.js'
import type { EndedObject, StoreDriver } from '../../core/store/driver.js'
import { timeOfAttempt } from '../../core/store/attempt-id.js'
import type * as inputs from '../../core/store/inputs/index.js'
import { REJECTION_SECONDS } from '../../core/store/inputs/index.js'
import type { KeyWrite } from '../../core/store/lifecycle/decide.js'
import { sameUsage } from '../../core/store/lifecycle/usage.js'
import { refuseRejected } from '../../core/store/lifecycle/verdicts.js'
import { listDueFromMarks } from '../shared/marks/due-leftovers.js'
import { indexMarksOf } from '../shared/marks/index-marks.js'
import { FROM_START, type LowWaterMark } from '../shared/marks/low-water-mark.js'
import { noticingWrites } from '../shared/marks/noticed-writes.js'
import { createDeadline, type Call } from './connection/deadline.js'
import { databaseError } from './connection/failures.js'
import { isRouted, runCommand, type Namespace } from './connection/namespace.js'
import { readWithRetry, type Read } from './connection/reads.js'
import { selectionError, whyUnreachable } from './connection/topology.js'
import { transact, type Transaction } from './connection/transactions.js'
import { countsIn, usageIn } from './documents/scope-document.js'
import { countEvents, listEvents } from './reads/events.js'
import { findAny, findById, findLive, findScopes, findSums } from './reads/finds.js'
import {
  listArrived,
  listDueLeftovers,
  listExpired,
  listLeftovers,
  listObjects,
  listScopes,
  listTemporary,
} from './reads/lists.js'
import { listStored } from './reads/stored.js'
import { recount, repairSums, type Recount } from './recount.js'
import { migrate } from './schema/migrate.js'
import { verify } from './schema/verify.js'
import { createStateCheck, readState } from './schema/version.js'
import { createClaims } from './writes/claims.js'
import { dropHistory, findHistoryBefore } from './writes/purge.js'
import { keepObjects } from './writes/keep.js'
import { createKeyWrites } from './writes/key-writes.js'
import { dropRejections, findOldRejections, findRejection, type OldRejections } from './writes/rejections.js'
import { settleEvents } from './writes/settle-events.js'

const RECOUNT_FACTOR = 10

/** Transactions of one `purgeDeleted` at a time. Each takes a connection, which others may need. */
const PURGES_AT_ONCE = 4

/** Rejections that one transaction deletes. */
const REJECTIONS_AT_ONCE = 1000

export interface MongoDriverOptions {
  readonly namespace: Namespace
  /** Milliseconds that a call may take, retries included. A recount gets ten times as long. */
  readonly timeout: number
  /** Whether `migrate()` turns events on or off. `null` leaves them as they are. */
  readonly events?: boolean | null
}

export function createMongoDriver({ namespace, timeout, events = null }: MongoDriverOptions): StoreDriver {
  // No call runs in a transaction of the caller.
  const marks = indexMarksOf(namespace.client, namespace.objects.namespace, true)
  const deadline = (milliseconds: number, writes: boolean) =>
    createDeadline({ timeout: milliseconds, writes, whyUnreachable: () => whyUnreachable(namespace.client) })
  const whileWriting = deadline(timeout, true)
  const whileReading = deadline(timeout, false)
  const whileRecounting = deadline(timeout * RECOUNT_FACTOR, false)
  const state = createStateCheck(namespace)
  const runKeyWrite = createKeyWrites(namespace, () => state.recordsEvents)
  const claims = createClaims(namespace, marks)

  /** Runs a call with a deadline, checks the schema first, and maps errors. */
  function run<T>(work: (call: Call) => Promise<T>, limit = whileWriting): Promise<T> {
    return limit(async (call) => {
      try {
        await state.check(call)
        return await work(call)
      } catch (error) {
        return rethrow(error)
      }
    })
  }

  const read = <T>(query: Read<T>, limit = whileReading) =>
    run((call) => readWithRetry(namespace, call, query), limit)
  /** Runs what only reads, whatever the schema. */
  const repeat = <T>(query: (call: Call) => Promise<T>) =>
    whileReading((call) => readWithRetry(namespace, call, () => query(call)).catch(rethrow))
  const inTransaction = <T>(work: (transaction: Transaction) => Promise<T>) =>
    run((call) => transact({ namespace, call }, work))
  const recounted = (scope: string | null) => read(recount(scope), whileRecounting)
  const write = <Write extends KeyWrite>(keyWrite: Write, scope?: string) =>
    run((call) => runKeyWrite(call, keyWrite, scope))

  /** Lists a page of an index by date up to a time. The first page starts at the mark of the index. */
  function listPage<Query extends { readonly after: object | null }, Item>(
    query: Query,
    list: (query: Query, from: number) => Read<Item[]>,
    { mark, upto, dateOf }: { mark: LowWaterMark; upto: number; dateOf: (item: Item) => Date | null },
  ): Promise<Item[]> {
    if (query.after) return read(list(query, FROM_START))
    return mark.list(upto, dateOf, (from) => read(list(query, from)))
  }

  const expired = (query: inputs.ListExpiredQuery) =>
    listPage(query, listExpired, {
      mark: marks.within(query.scope).expired,
      upto: query.before.getTime(),
      dateOf: ({ expiresAt }) => expiresAt,
    })

  /** Deletes the oldest of these rejections. Returns whether there may be more. */
  async function forgetSome(old: OldRejections, mark: LowWaterMark): Promise<boolean> {
    const { result: ids } = await mark.look(old.before.getTime(), (from) =>
      read(findOldRejections(old, from, REJECTIONS_AT_ONCE)),
    )
    if (ids.length > 0) await inTransaction((transaction) => dropRejections(transaction, ids, old.before))
    return ids.length === REJECTIONS_AT_ONCE
  }

  const driver: StoreDriver = {
    list: (query) => read(listObjects(query)),
    async count({ scope, statuses }) {
      const counts = countsIn(await read(findSums(scope)))
      return statuses.reduce((count, status) => count + counts[status], 0)
    },

    usage: async (scope) => usageIn(await read(findSums(scope))),
    find: (query) => read(findAny(query)),
    findActive: (query) => read(findLive(query, 'active')),
    async findPending({ id, uploadId, ...query }) {
      const row = await read(findLive(query, 'pending'))
      const isWanted = (id === null || row?.id === id) && (uploadId === null || row?.uploadId === uploadId)
      return isWanted ? row : null
    },

    async findPendingMultipart({ fileSize, now, ...reference }) {
      const row = await read(findLive(reference, 'pending'))
      if (!row || row.uploadId === null || row.declaredSize !== fileSize || hasExpired(row, now)) return null
      return row
    },

    reserve: (command) => write({ kind: 'reserve', command }),
    setUploadId: (command) => write({ kind: 'setUploadId', command }),
    async confirm(command) {
      const outcome = await write({ kind: 'confirm', command })
      const { id, accept } = command
      if (outcome.outcome !== 'not-found' || id === null || accept) return outcome
      return refuseRejected(command, await read(findRejection(id))) ?? outcome
    },
    release: (command) => write({ kind: 'release', command }),
    adopt: (command) => write({ kind: 'adopt', command }),
    update: (command) => write({ kind: 'update', command }),
    transfer: (command) => write({ kind: 'transfer', command }),
    remove: (command) => write({ kind: 'remove', command }),

    keep: (command) =>
      run(async (call) => {
        // It depends on rows that it does not change: those without an end.
        const readsOneMoment = await isRouted(namespace)
        return transact({ namespace, call, readsOneMoment }, (transaction) =>
          keepObjects(transaction, command, state.recordsEvents),
        )
      }),
    listTemporary: (query) =>
      listPage(query, listTemporary, {
        mark: marks.within(query.scope).temporary,
        upto: query.before.getTime(),
        dateOf: ({ temporaryUntil }) => temporaryUntil,
      }),
    async endTemporary({ objects, ...command }) {
      const scopes = await read(findScopes(objects))
      const found = objects.filter((object) => scopes.has(keyId(object)))
      const end = (object: EndedObject) =>
        write({ kind: 'endOne', command: { ...object, ...command } }, scopes.get(keyId(object)))
      const { done, isComplete } = await effectiveOf(found, end, ({ row }) => row !== null)
      return { rows: done.map(({ row }) => row!), isUncertain: !isComplete }
    },

    listArrived: (query) =>
      listPage(query, listArrived, {
        mark: marks.within(query.scope).arrived,
        upto: query.dueBefore?.getTime() ?? Infinity,
        dateOf: ({ expiresAt }) => expiresAt,
      }),
    async reject(command) {
      const before = new Date(command.now.getTime() - REJECTION_SECONDS * 1000)
      // First, because a failure must not hide that the attempt was rejected.
      await forgetSome({ scope: null, before }, marks.forgotten)
      return write({ kind: 'reject', command })
    },

    findById: (query) => read(findById(query)),
    listScopes: (query) => read(listScopes(query)),
    listStored: (query) => read(listStored(query)),
    listExpired: expired,
    async purgeExpired({ scope, before, limit, now }) {
      const due = await expired({ scope, before, limit, after: null })
      const purge = ({ scope, bucket, key, id }: StorageObject) =>
        write({ kind: 'purge', command: { bucket, key, id, before, now } }, scope)
      const { done, isComplete } = await effectiveOf(due, purge, ({ row }) => row !== null)
      return { rows: done.map(({ row }) => row!), isUncertain: !isComplete }
    },

    claimEvents: (command) => run((call) => claims.claim(call, command)),
    async settleEvents(command) {
      const settled = await settleEvents(namespace, run, command)
      // The next events of their objects are due.
      marks.firstEvents.lower(command.now.getTime())
      return settled
    },
    extendClaims: (command) => run((call) => claims.extend(call, command)),
    async listEvents(query) {
      if (query.after !== null) return read(listEvents(query, FROM_START))
      const { result } = await marks.eventIds.look(Infinity, async (from) => {
        const page = await read(listEvents(query, from))
        const [first] = page.items
        return { result: page, first: first ? timeOfAttempt(first.id) : null }
      })
      return result
    },
    countEvents: (query) => read(countEvents(query)),
    recordsEvents: async () => (await run((call) => readState(namespace, call), whileReading)).events,

    listLeftovers: (query) =>
      listPage(query, listLeftovers, {
        mark: marks.within(query.scope).leftovers,
        upto: Date.now(),
        dateOf: ({ since }) => since,
      }),
    listDueLeftovers: (query) =>
      listDueFromMarks(marks.within(query.scope), query, (from) => read(listDueLeftovers(query, from))),
    async deferLeftover({ attemptId, until, dueBefore, readableUntil }) {
      const leftover = { _id: attemptId, ...(dueBefore && { dueAt: { $not: { $gt: dueBefore } } }) }
      const change = { $set: { dueAt: until, ...(readableUntil && { readableUntil }) } }
      const deferred = await inTransaction(({ session }) =>
        namespace.leftovers.findOneAndUpdate(leftover, change, { session, projection: { scope: 1 } }),
      )
      if (!deferred) return false
      const scopes = typeof deferred['scope'] === 'string' ? [deferred['scope']] : []
      marks.change(scopes, (ofScope) => ofScope.deferred.lower(until.getTime()))
      return true
    },

    forgetLeftover: (attemptId) =>
      inTransaction(async ({ session }) => {
        const { deletedCount } = await namespace.leftovers.deleteOne({ _id: attemptId }, { session })
        return deletedCount > 0
      }),

    async purgeDeleted(command) {
      const { id, scope, before } = command
      const { rejections, deleted } = marks.within(scope)
      if (id === null) while (await forgetSome(command, rejections));
      const find = (from: number) => read(findHistoryBefore(command, from))
      const { result: found } = await (id === null ? deleted.look(before.getTime(), find) : find(FROM_START))
      const drop = ([scope, ids]: readonly [string, string[]]) =>
        inTransaction((transaction) => dropHistory(transaction, scope, ids))
      const { done } = await effectiveOf([...found], drop, (dropped) => dropped > 0, PURGES_AT_ONCE)
      return { dropped: done.reduce((sum, dropped) => sum + dropped, 0) }
    },

    async migrate(options) {
      const result = await migrate(namespace, events, { ...options, limit: whileWriting }).catch(rethrow)
      state.forget()
      return result
    },

    verify: () => repeat((call) => verify(namespace, call)),
    checkUsage: async (scope) => differences(await recounted(scope)),
    async repairUsage(scope) {
      const repaired: Recount[] = []
      for (const wrong of await recounted(scope)) {
        if (await inTransaction((transaction) => repairSums(transaction, wrong))) repaired.push(wrong)
      }
      return differences(repaired)
    },

    async ping() {
      await repeat(() => runCommand(namespace, { ping: 1 }))
    },

    async close() {
      // The application closes its own client.
    },
  }
  return noticingWrites(driver, marks)
}

function rethrow(error: unknown): never {
  throw selectionError(error) ?? databaseError(error)
}

/**
 * Runs writes, at most `atOnce` at a time, until one fails. Returns the results of those that had an effect, which only
 * this call can report. Rejects if there is none, because an empty result means that nothing is left to do.
 */
async function effectiveOf<Item, Result>(
  items: readonly Item[],
  write: (item: Item) => Promise<Result>,
  hadEffect: (result: Result) => boolean,
  atOnce = Infinity,
): Promise<{ done: Result[]; isComplete: boolean }> {
  const done: Result[] = []
  for (let from = 0; from < items.length; from += atOnce) {
    const settled = await Promise.allSettled(items.slice(from, from + atOnce).map(write))
    for (const result of settled) {
      if (result.status === 'fulfilled' && hadEffect(result.value)) done.push(result.value)
    }
    const failed = settled.find((result) => result.status === 'rejected')
    if (failed && done.length === 0) throw failed.reason
    if (failed) return { done, isComplete: false }
  }
  return { done, isComplete: true }
}

/** Returns the scopes whose usage differs, and not those of which only a row count does. */
function differences(recounts: readonly Recount[]): UsageDifference[] {
  return recounts
    .map(({ scope, recorded, actual }) => ({ scope, recorded: usageIn(recorded), actual: usageIn(actual) }))
    .filter(({ recorded, actual }) => !sameUsage(recorded, actual))
}
