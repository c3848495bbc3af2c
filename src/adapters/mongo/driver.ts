import { keyId } from '../../core/names.js'
import { hasExpired } from '../../core/store/lifecycle/change.js'
import type { StorageObject, UsageDifference } from '../../core/store/records.js'
import type { EndedObject, StoreDriver } from '../../core/store/driver.js'
import { REJECTION_SECONDS } from '../../core/store/inputs/index.js'
import type { KeyWrite } from '../../core/store/lifecycle/decide.js'
import { sameUsage } from '../../core/store/lifecycle/usage.js'
import { refuseRejected } from '../../core/store/lifecycle/verdicts.js'
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
  const deadline = (milliseconds: number, writes: boolean) =>
    createDeadline({ timeout: milliseconds, writes, whyUnreachable: () => whyUnreachable(namespace.client) })
  const whileWriting = deadline(timeout, true)
  const whileReading = deadline(timeout, false)
  const whileRecounting = deadline(timeout * RECOUNT_FACTOR, false)
  const state = createStateCheck(namespace)
  const runKeyWrite = createKeyWrites(namespace, () => state.recordsEvents)
  const claims = createClaims(namespace)

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

  /** Deletes the oldest of these rejections. Returns whether there may be more. */
  async function forgetSome(old: OldRejections): Promise<boolean> {
    const ids = await read(findOldRejections(old, REJECTIONS_AT_ONCE))
    if (ids.length > 0) await inTransaction((transaction) => dropRejections(transaction, ids, old.before))
    return ids.length === REJECTIONS_AT_ONCE
  }

  return {
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
    listTemporary: (query) => read(listTemporary(query)),
    async endTemporary({ objects, ...command }) {
      const scopes = await read(findScopes(objects))
      const found = objects.filter((object) => scopes.has(keyId(object)))
      const end = (object: EndedObject) =>
        write({ kind: 'endOne', command: { ...object, ...command } }, scopes.get(keyId(object)))
      const { done, isComplete } = await effectiveOf(found, end, ({ row }) => row !== null)
      return { rows: done.map(({ row }) => row!), isUncertain: !isComplete }
    },

    listArrived: (query) => read(listArrived(query)),
    async reject(command) {
      const before = new Date(command.now.getTime() - REJECTION_SECONDS * 1000)
      // First, because a failure must not hide that the attempt was rejected.
      await forgetSome({ scope: null, before })
      return write({ kind: 'reject', command })
    },

    findById: (query) => read(findById(query)),
    listScopes: (query) => read(listScopes(query)),
    listStored: (query) => read(listStored(query)),
    listExpired: (query) => read(listExpired(query)),
    async purgeExpired({ scope, before, limit, now }) {
      const expired = await read(listExpired({ scope, before, limit, after: null }))
      const purge = ({ scope, bucket, key, id }: StorageObject) =>
        write({ kind: 'purge', command: { bucket, key, id, before, now } }, scope)
      const { done, isComplete } = await effectiveOf(expired, purge, ({ row }) => row !== null)
      return { rows: done.map(({ row }) => row!), isUncertain: !isComplete }
    },

    claimEvents: (command) => run((call) => claims.claim(call, command)),
    settleEvents: (command) => settleEvents(namespace, run, command),
    extendClaims: (command) => run((call) => claims.extend(call, command)),
    listEvents: async (query) => read(listEvents(query)),
    countEvents: (query) => read(countEvents(query)),
    recordsEvents: async () => (await run((call) => readState(namespace, call), whileReading)).events,

    listLeftovers: (query) => read(listLeftovers(query)),
    listDueLeftovers: (query) => read(listDueLeftovers(query)),
    deferLeftover: ({ attemptId, until, dueBefore, readableUntil }) =>
      inTransaction(async ({ session }) => {
        const leftover = { _id: attemptId, ...(dueBefore && { dueAt: { $not: { $gt: dueBefore } } }) }
        const change = { $set: { dueAt: until, ...(readableUntil && { readableUntil }) } }
        const { matchedCount } = await namespace.leftovers.updateOne(leftover, change, { session })
        return matchedCount > 0
      }),

    forgetLeftover: (attemptId) =>
      inTransaction(async ({ session }) => {
        const { deletedCount } = await namespace.leftovers.deleteOne({ _id: attemptId }, { session })
        return deletedCount > 0
      }),

    async purgeDeleted(command) {
      if (command.id === null) while (await forgetSome(command));
      const found = await read(findHistoryBefore(command))
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
