import type { StoreDriver } from '../../core/store/driver.js'
import type { UsageCache } from './usage-cache.js'

interface Bracketed<Answer> {
  /** Whose usage the write changes, where the call says so. */
  readonly scope: string | null
  /** Whether it may change that of other scopes too. */
  readonly others: boolean
  readonly write: () => Promise<Answer>
  /** The scopes that the write named. */
  readonly touched: (answer: Answer) => readonly string[] | 'all'
}

/** A driver that answers `usage` from the cache where that is as good, and else does what the other driver does. */
export function cachedDriver(driver: StoreDriver, cache: UsageCache): StoreDriver {
  async function bracketed<Answer extends object>({
    scope,
    others,
    write,
    touched,
  }: Bracketed<Answer>): Promise<Answer> {
    const pending = await cache.begin(scope)
    let answer: Answer
    try {
      answer = await write()
    } catch (error) {
      await cache.abandon(pending, others)
      throw error
    }
    if (isUncertain(answer)) await cache.abandon(pending, others)
    else await cache.end(pending, touched(answer))
    return answer
  }

  return {
    async usage(scope) {
      const found = await cache.read(scope)
      if (found && 'usage' in found) return found.usage
      const usage = await driver.usage(scope)
      // Nobody waits for it: whether it gets there in time the lease decides.
      if (found) void cache.store(scope, found.lease, usage)
      return usage
    },

    reserve(command) {
      // It may drop the lapsed reservation of another scope.
      const { scope } = command
      return bracketed({ scope, others: true, write: () => driver.reserve(command), touched: scopesOf })
    },

    confirm(command) {
      const { scope } = command
      return bracketed({ scope, others: false, write: () => driver.confirm(command), touched: scopesOf })
    },

    release(command) {
      const { scope } = command
      return bracketed({ scope, others: false, write: () => driver.release(command), touched: scopesOf })
    },

    remove(command) {
      const { scope } = command
      return bracketed({ scope, others: false, write: () => driver.remove(command), touched: scopesOf })
    },

    purgeExpired(command) {
      const { scope } = command
      const write = () => driver.purgeExpired(command)
      return bracketed({ scope, others: false, write, touched: scopesOf })
    },

    repairUsage(scope) {
      return bracketed({
        scope,
        others: false,
        write: () => driver.repairUsage(scope),
        // What was repaired by a try whose answer was lost, the next one doesn't name.
        touched: () => 'all',
      })
    },

    // These change nothing that a usage counts.
    setUploadId: (command) => driver.setUploadId(command),
    forgetLeftover: (attemptId) => driver.forgetLeftover(attemptId),
    purgeDeleted: (command) => driver.purgeDeleted(command),

    list: (query) => driver.list(query),
    count: (query) => driver.count(query),
    find: (reference) => driver.find(reference),
    findActive: (reference) => driver.findActive(reference),
    findPending: (query) => driver.findPending(query),
    findPendingMultipart: (query) => driver.findPendingMultipart(query),
    listExpired: (query) => driver.listExpired(query),
    listLeftovers: (query) => driver.listLeftovers(query),
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

function isUncertain(answer: object): boolean {
  return (answer as { readonly isUncertain?: boolean }).isUncertain ?? false
}

function scopesOf(answer: object): readonly string[] {
  return (answer as { readonly scopes?: readonly string[] }).scopes ?? []
}
