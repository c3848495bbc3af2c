import type { StorageObjectStore } from '../../core/store/contract.js'
import { createStore } from '../../core/store/create-store.js'
import type { AdoptCommand, StoreDriver, TransferCommand } from '../../core/store/driver.js'
import type { StoreParts } from '../../core/store/store-parts.js'
import { createUsageCache, type UsageCache, type UsageCacheOptions } from './usage-cache.js'

/** Creates a store from the parts of another one, with its usage cached. */
export function cachedStore({ driver, now }: StoreParts, options: UsageCacheOptions): StorageObjectStore {
  return createStore(cachedDriver(driver, createUsageCache(options)), { now })
}

interface InvalidatingWrite<Result> {
  /** The scopes that the call names; `null` if none. */
  readonly scopes: readonly string[] | null
  /** Whether the write may change the usage of other scopes too. */
  readonly mayTouchOthers: boolean
  readonly write: () => Promise<Result>
  /** Returns the scopes that the write reported. */
  readonly touched: (result: Result) => readonly string[] | 'all'
}

/** Wraps a driver: `usage` is read from the cache if possible, and writes invalidate it. */
function cachedDriver(driver: StoreDriver, cache: UsageCache): StoreDriver {
  /** Marks the write in the cache before it starts, and invalidates what it touched before it is acknowledged. */
  async function invalidating<Result extends object>({
    scopes,
    mayTouchOthers,
    write,
    touched,
  }: InvalidatingWrite<Result>): Promise<Result> {
    const pending = await cache.begin(scopes)
    let result: Result
    try {
      result = await write()
    } catch (error) {
      await cache.abandon(pending, mayTouchOthers)
      throw error
    }
    if (isUncertain(result)) await cache.abandon(pending, mayTouchOthers)
    else await cache.end(pending, touched(result))
    return result
  }

  const { contract } = driver
  const transfer = driver.transfer?.bind(driver)
  const adopt = driver.adopt?.bind(driver)
  return {
    ...(contract && { contract }),

    async usage(scope) {
      const found = await cache.read(scope)
      if (found && 'usage' in found) return found.usage
      const usage = await driver.usage(scope)
      // Not awaited: if a write comes first, the lease is gone and Redis ignores this.
      if (found) void cache.store(scope, found.lease, usage)
      return usage
    },

    reserve(command) {
      return invalidating({
        scopes: [command.scope],
        // It may end the expired reservation of another scope.
        mayTouchOthers: true,
        write: () => driver.reserve(command),
        touched: scopesOf,
      })
    },

    confirm(command) {
      return invalidating({
        scopes: named(command),
        mayTouchOthers: false,
        write: () => driver.confirm(command),
        touched: scopesOf,
      })
    },

    release(command) {
      return invalidating({
        scopes: named(command),
        mayTouchOthers: false,
        write: () => driver.release(command),
        touched: scopesOf,
      })
    },

    remove(command) {
      return invalidating({
        scopes: named(command),
        mayTouchOthers: false,
        write: () => driver.remove(command),
        touched: scopesOf,
      })
    },

    ...(transfer && {
      transfer(command: TransferCommand) {
        return invalidating({
          scopes: [...new Set([command.from, command.to])],
          mayTouchOthers: false,
          write: () => transfer(command),
          touched: scopesOf,
        })
      },
    }),

    ...(adopt && {
      adopt(command: AdoptCommand) {
        return invalidating({
          scopes: [command.scope],
          // It may end the expired reservation of another scope.
          mayTouchOthers: true,
          write: () => adopt(command),
          touched: scopesOf,
        })
      },
    }),

    purgeExpired(command) {
      return invalidating({
        scopes: named(command),
        mayTouchOthers: false,
        write: () => driver.purgeExpired(command),
        touched: scopesOf,
      })
    },

    repairUsage(scope) {
      return invalidating({
        scopes: named({ scope }),
        mayTouchOthers: false,
        write: () => driver.repairUsage(scope),
        // A repeat doesn't report what the first try repaired if its response was lost.
        touched: () => 'all',
      })
    },

    // These writes don't change any usage.
    setUploadId: (command) => driver.setUploadId(command),
    forgetLeftover: (attemptId) => driver.forgetLeftover(attemptId),
    ...(driver.update && { update: driver.update.bind(driver) }),
    ...(driver.claimEvents && { claimEvents: driver.claimEvents.bind(driver) }),
    ...(driver.settleEvents && { settleEvents: driver.settleEvents.bind(driver) }),
    ...(driver.extendClaims && { extendClaims: driver.extendClaims.bind(driver) }),
    ...(driver.deferLeftover && { deferLeftover: driver.deferLeftover.bind(driver) }),
    purgeDeleted: (command) => driver.purgeDeleted(command),

    list: (query) => driver.list(query),
    count: (query) => driver.count(query),
    find: (query) => driver.find(query),
    findActive: (query) => driver.findActive(query),
    findPending: (query) => driver.findPending(query),
    findPendingMultipart: (query) => driver.findPendingMultipart(query),
    ...(driver.findById && { findById: driver.findById.bind(driver) }),
    ...(driver.listScopes && { listScopes: driver.listScopes.bind(driver) }),
    ...(driver.listStored && { listStored: driver.listStored.bind(driver) }),
    ...(driver.listEvents && { listEvents: driver.listEvents.bind(driver) }),
    ...(driver.countEvents && { countEvents: driver.countEvents.bind(driver) }),
    ...(driver.recordsEvents && { recordsEvents: driver.recordsEvents.bind(driver) }),
    listExpired: (query) => driver.listExpired(query),
    listLeftovers: (query) => driver.listLeftovers(query),
    ...(driver.listDueLeftovers && { listDueLeftovers: driver.listDueLeftovers.bind(driver) }),
    checkUsage: (scope) => driver.checkUsage(scope),

    migrate: () => driver.migrate(),
    verify: () => driver.verify(),
    ping: () => driver.ping(),
    close() {
      cache.stop()
      return driver.close()
    },
  }
}

/** Returns the scopes of a call with an optional scope. */
function named({ scope }: { readonly scope: string | null }): readonly string[] | null {
  return scope === null ? null : [scope]
}

function isUncertain(result: object): boolean {
  return (result as { readonly isUncertain?: boolean }).isUncertain ?? false
}

function scopesOf(result: object): readonly string[] {
  return (result as { readonly scopes?: readonly string[] }).scopes ?? []
}
