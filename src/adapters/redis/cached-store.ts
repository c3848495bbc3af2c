import type { StorageObjectStore } from '../../core/store/contract.js'
import { createStore } from '../../core/store/create-store.js'
import type { KnownBytes, RowOutcome, RowsOutcome, StoreDriver } from '../../core/store/driver.js'
import type { StoreParts } from '../../core/store/store-parts.js'
import { createUsageCache, type UsageCache, type UsageCacheOptions } from './usage-cache.js'

/** What the outcomes of writes may tell about the scopes that they touched. */
type Outcome = RowsOutcome & RowOutcome & Pick<KnownBytes, 'object'> & { readonly scopes: readonly string[] }

export function cachedStore({ driver, now }: StoreParts, options: UsageCacheOptions): StorageObjectStore {
  return createStore(cachedDriver(driver, createUsageCache(options)), { now })
}

/** Wraps a driver: `usage` is read from the cache if possible, and writes invalidate it. */
function cachedDriver(driver: StoreDriver, cache: UsageCache): StoreDriver {
  /** Marks a write of these scopes, or of any for `null`, before it starts, and invalidates what it touched. */
  async function invalidating<Result extends object>(
    scopes: readonly string[] | null,
    write: () => Promise<Result>,
    { mayTouchOthers = false, touchesAll = false } = {},
  ): Promise<Result> {
    const pending = await cache.begin(scopes)
    let result: Result
    try {
      result = await write()
    } catch (error) {
      await cache.abandon(pending, mayTouchOthers)
      throw error
    }
    const { isUncertain } = result as Partial<RowsOutcome>
    if (isUncertain) await cache.abandon(pending, mayTouchOthers)
    else await cache.end(pending, touchesAll ? 'all' : touchedBy(result))
    return result
  }

  return {
    async usage(scope) {
      const found = await cache.read(scope)
      if (found && 'usage' in found) return found.usage
      const usage = await driver.usage(scope)
      // Not awaited: if a write comes first, the lease is gone and Redis ignores this.
      if (found) void cache.store(scope, found.lease, usage)
      return usage
    },

    // These two may end the expired reservation of another scope.
    reserve: (command) =>
      invalidating([command.scope], () => driver.reserve(command), { mayTouchOthers: true }),
    adopt: (command) => invalidating([command.scope], () => driver.adopt(command), { mayTouchOthers: true }),
    confirm: (command) => invalidating(named(command), () => driver.confirm(command)),
    release: (command) => invalidating(named(command), () => driver.release(command)),
    remove: (command) => invalidating(named(command), () => driver.remove(command)),
    purgeExpired: (command) => invalidating(named(command), () => driver.purgeExpired(command)),
    transfer: (command) =>
      invalidating([...new Set([command.from, command.to])], () => driver.transfer(command)),
    reject: (command) => invalidating(named(command), () => driver.reject(command)),
    // The objects may belong to any scope.
    endTemporary: (command) => invalidating(null, () => driver.endTemporary(command)),
    // A repeat doesn't report what the first try repaired if its response was lost.
    repairUsage: (scope) =>
      invalidating(named({ scope }), () => driver.repairUsage(scope), { touchesAll: true }),

    // These writes don't change any usage.
    setUploadId: (command) => driver.setUploadId(command),
    forgetLeftover: (attemptId) => driver.forgetLeftover(attemptId),
    update: (command) => driver.update(command),
    keep: (command) => driver.keep(command),
    claimEvents: (command) => driver.claimEvents(command),
    settleEvents: (command) => driver.settleEvents(command),
    extendClaims: (command) => driver.extendClaims(command),
    deferLeftover: (command) => driver.deferLeftover(command),
    purgeDeleted: (command) => driver.purgeDeleted(command),

    list: (query) => driver.list(query),
    count: (query) => driver.count(query),
    find: (query) => driver.find(query),
    findActive: (query) => driver.findActive(query),
    findPending: (query) => driver.findPending(query),
    findPendingMultipart: (query) => driver.findPendingMultipart(query),
    findById: (query) => driver.findById(query),
    listScopes: (query) => driver.listScopes(query),
    listStored: (query) => driver.listStored(query),
    listEvents: (query) => driver.listEvents(query),
    countEvents: (query) => driver.countEvents(query),
    recordsEvents: () => driver.recordsEvents(),
    listExpired: (query) => driver.listExpired(query),
    listTemporary: (query) => driver.listTemporary(query),
    listArrived: (query) => driver.listArrived(query),
    listLeftovers: (query) => driver.listLeftovers(query),
    listDueLeftovers: (query) => driver.listDueLeftovers(query),
    checkUsage: (scope) => driver.checkUsage(scope),

    migrate: (options) => driver.migrate(options),
    verify: () => driver.verify(),
    ping: () => driver.ping(),
    close() {
      cache.stop()
      return driver.close()
    },
  }
}

/** Returns the scopes that the outcome of a write names. The command's own are known before. */
function touchedBy({ scopes = [], row, object, rows = [] }: Partial<Outcome>): readonly string[] {
  const returned = [row, object, ...rows].filter((each) => each != null)
  return [...scopes, ...returned.map(({ scope }) => scope)]
}

/** Returns the scopes of a call with an optional scope. */
function named({ scope }: { readonly scope: string | null }): readonly string[] | null {
  return scope === null ? null : [scope]
}
