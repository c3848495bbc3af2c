import { hasLapsed } from '../../core/store/lifecycle.js'
import { copyObject, type UsageDifference } from '../../core/store/records.js'
import type { RowOutcome, StoreDriver } from '../../core/store/driver.js'
import { sameUsage } from '../../core/store/usage.js'
import { databaseError } from './connection/failures.js'
import { patienceOf, type Call } from './connection/patience.js'
import { runCommand, type Place } from './connection/place.js'
import { readAgain } from './connection/reads.js'
import { transact } from './connection/transactions.js'
import { rowsOfStatus, usageIn } from './documents/scope-document.js'
import { findAny, findLive, findSums } from './reads/finds.js'
import { listExpired, listLeftovers, listObjects } from './reads/lists.js'
import type { Read } from './reads/read.js'
import { recount, type Recount } from './reads/recount.js'
import { migrate } from './schema/migrate.js'
import { createStateCheck } from './schema/state.js'
import { verify } from './schema/verify.js'
import { scopeGiven, type KeyPlan, type KeyWrite } from './writes/key-write.js'
import { dropHistory, findHistoryBefore } from './writes/purge-deleted.js'
import { repairSums } from './writes/repair-sums.js'
import { createScopeWrites } from './writes/scope-writes.js'
import type { KeyResult } from './writes/write-keys.js'

/** How many times as long as for any other call is waited for a recount, which reads all rows there are. */
const RECOUNT_TAKES_LONGER = 10

export interface MongoDriverOptions {
  readonly place: Place
  /** Milliseconds that a call waits for the server, over all that is tried for it; a recount ten times as many. */
  readonly limit: number
}

/** The store's rules over MongoDB. */
export function createMongoDriver({ place, limit }: MongoDriverOptions): StoreDriver {
  const patience = patienceOf(limit)
  const recountPatience = patienceOf(limit * RECOUNT_TAKES_LONGER)
  const checkState = createStateCheck(place)
  const writes = createScopeWrites(place)

  /** A call over collections that fit this code, with the errors of the contract. */
  function asked<T>(work: (call: Call) => Promise<T>, wait = patience): Promise<T> {
    return wait(async (call) => {
      try {
        await checkState(call)
        return await work(call)
      } catch (error) {
        throw databaseError(error)
      }
    })
  }

  const read = <T>(query: Read<T>, wait = patience) => asked((call) => readAgain(place, call, query), wait)
  const recounted = (scope: string | null) => read(recount(place, scope), recountPatience)
  const write = (keyWrite: KeyWrite, scope = scopeGiven(keyWrite)) =>
    asked((call) => writes.run(call, keyWrite, scope))

  return {
    async list(query) {
      return read(listObjects(place, query))
    },

    async count({ scope, statuses }) {
      const sums = await read(findSums(place, scope))
      return statuses.reduce((count, status) => count + rowsOfStatus(sums, status), 0)
    },

    async usage(scope) {
      return usageIn(await read(findSums(place, scope)))
    },

    async find(reference) {
      return read(findAny(place, reference))
    },

    async findActive(reference) {
      return read(findLive(place, reference, 'active'))
    },

    async findPending({ id, uploadId, ...reference }) {
      const row = await read(findLive(place, reference, 'pending'))
      const isWanted = (id === null || row?.id === id) && (uploadId === null || row?.uploadId === uploadId)
      return isWanted ? row : null
    },

    async findPendingMultipart({ fileSize, now, ...reference }) {
      const row = await read(findLive(place, reference, 'pending'))
      if (!row || row.uploadId === null || row.declaredSize !== fileSize || hasLapsed(row, now)) return null
      return row
    },

    async reserve(command) {
      const { plan, scopes } = await write({ kind: 'reserve', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'reserved', row: copyObject(plan.row!), scopes }
        case 'key-conflict':
        case 'reused':
        case 'quota-exceeded':
        case 'sum-too-large':
          return plan
        default:
          throw foreignOutcome(plan)
      }
    },

    async confirm(command) {
      const { plan, scopes } = await write({ kind: 'confirm', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'confirmed', row: copyObject(plan.row!), scopes }
        case 'not-found':
        case 'quota-exceeded':
        case 'sum-too-large':
          return plan
        default:
          throw foreignOutcome(plan)
      }
    },

    async setUploadId(command) {
      const { plan, scopes } = await write({ kind: 'setUploadId', command })
      switch (plan.outcome) {
        case 'change':
        case 'unchanged':
          return { outcome: 'set', row: copyObject(plan.row!), scopes }
        case 'not-found':
        case 'other-upload':
          return plan
        default:
          throw foreignOutcome(plan)
      }
    },

    async release(command) {
      return rowOutcome(await write({ kind: 'release', command }))
    },

    async remove(command) {
      return rowOutcome(await write({ kind: 'remove', command }))
    },

    async listExpired(query) {
      return read(listExpired(place, query))
    },

    async purgeExpired({ scope, before, limit, now }) {
      const lapsed = await read(listExpired(place, { scope, before, limit, after: null }))
      const purging = lapsed.map(async ({ scope, bucket, key, id }) => {
        const command = { bucket, key, id, before, now }
        return rowOutcome(await write({ kind: 'purge', command }, scope))
      })
      const { done, isAll } = await doneOf(purging, ({ row }) => row !== null)
      return {
        rows: done.map(({ row }) => row!),
        scopes: [...new Set(done.flatMap(({ scopes }) => scopes))],
        isUncertain: !isAll,
      }
    },

    async listLeftovers(query) {
      return read(listLeftovers(place, query))
    },

    async forgetLeftover(attemptId) {
      return asked((call) =>
        transact({ place, audience: call }, async (session) => {
          const { deletedCount } = await place.leftovers.deleteOne({ _id: attemptId }, { session })
          return deletedCount > 0
        }),
      )
    },

    async purgeDeleted(command) {
      const found = await read(findHistoryBefore(place, command))
      const purging = [...found].map(async ([scope, ids]) => {
        const dropped = await asked((call) =>
          transact({ place, audience: call }, (session) => dropHistory(place, session, scope, ids)),
        )
        return { scope, dropped }
      })
      const { done } = await doneOf(purging, ({ dropped }) => dropped > 0)
      return {
        dropped: done.reduce((sum, { dropped }) => sum + dropped, 0),
        scopes: done.map(({ scope }) => scope),
      }
    },

    async migrate() {
      return migrate(place).catch((error: unknown) => {
        throw databaseError(error)
      })
    },

    async verify() {
      return patience((call) => verify(place, call)).catch((error: unknown) => {
        throw databaseError(error)
      })
    },

    async checkUsage(scope) {
      return differences(await recounted(scope))
    },

    async repairUsage(scope) {
      const repaired: Recount[] = []
      for (const wrong of await recounted(scope)) {
        const isRepaired = await asked((call) =>
          transact({ place, audience: call }, (session) => repairSums(place, session, wrong)),
        )
        if (isRepaired) repaired.push(wrong)
      }
      return differences(repaired)
    },

    async ping() {
      await patience(() => runCommand(place, { ping: 1 })).catch((error: unknown) => {
        throw databaseError(error)
      })
    },

    async close() {
      // The client is the caller's.
    },
  }
}

/** A write of one kind never comes to the outcome of another. */
function foreignOutcome({ outcome }: KeyPlan): RangeError {
  return new RangeError(`This write can't come to ${outcome}.`)
}

function rowOutcome({ plan, scopes }: KeyResult): RowOutcome {
  if (plan.outcome !== 'change' && plan.outcome !== 'unchanged') throw foreignOutcome(plan)
  return { row: plan.row && copyObject(plan.row), scopes }
}

/**
 * Those of several writes that did something: what is gone must be told to somebody, and the next call meets the same
 * trouble. Where none did, the first error: the caller would take it that nothing is left to do.
 */
async function doneOf<T>(
  writes: readonly Promise<T>[],
  didSomething: (result: T) => boolean,
): Promise<{ done: T[]; isAll: boolean }> {
  const settled = await Promise.allSettled(writes)
  const done = settled.flatMap((result) =>
    result.status === 'fulfilled' && didSomething(result.value) ? [result.value] : [],
  )
  const failed = settled.find((result) => result.status === 'rejected')
  if (failed && done.length === 0) throw failed.reason
  return { done, isAll: failed === undefined }
}

/** The scopes whose usage differs. Those where only a count behind `countByScope` does are none of a caller's business. */
function differences(recounts: readonly Recount[]): UsageDifference[] {
  return recounts
    .map(({ scope, recorded, actual }) => ({ scope, recorded: usageIn(recorded), actual: usageIn(actual) }))
    .filter(({ recorded, actual }) => !sameUsage(recorded, actual))
}
