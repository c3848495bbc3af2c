import type { ScopeUsage } from '../../core/records.js'
import type { Report } from '../../core/reporter.js'
import { Debts, EVERYTHING, forgettable, type Forgettable } from './debts.js'
import { runScript, type RedisClient } from './redis-client.js'
import { createRedisLink } from './redis-link.js'
import { BEGIN, FORGET, READ, STORE } from './scripts.js'
import { readUsageText, usageText } from './usage-text.js'

/**
 * Milliseconds that the mark of a write counts. One that takes longer is still followed by its own forgetting; what the
 * mark adds is that nobody sees the usage of before once the database has the write, also where the process dies then.
 */
const LONGEST_WRITE = 30_000

/** Milliseconds. Longer than any value lives, which is a day at most. */
const EPOCH_LIFETIME = 2 * 86_400_000

/** A permission to put a usage into Redis, for as long as nobody changes the scope. */
export interface Lease {
  readonly text: string
  readonly epoch: string
}

/** A write under way. */
export interface PendingWrite {
  readonly token: string
  /** `null` where only the database knows whose object it concerns. */
  readonly scope: string | null
}

/** The usages of scopes in Redis. No call rejects, and none waits for a Redis that doesn't answer. */
export interface UsageCache {
  /** A usage that no write has outdated, or a lease, or neither. */
  read(scope: string): Promise<{ readonly usage: ScopeUsage } | { readonly lease: Lease } | null>
  store(scope: string, lease: Lease, usage: ScopeUsage): Promise<void>
  /** To be awaited before a write: from then on nobody relies on what was read before it. */
  begin(scope: string | null): Promise<PendingWrite>
  /** To be awaited before a write is acknowledged. `touched`: the scopes that the write named. */
  end(write: PendingWrite, touched: readonly string[]): Promise<void>
  /** Instead of `end`, where a write failed: it may have happened, or may yet. `hidden`: in scopes that nobody knows. */
  abandon(write: PendingWrite, hidden: boolean): Promise<void>
  stop(): void
}

export interface UsageCacheOptions {
  readonly redis: RedisClient
  readonly prefix: string
  readonly ttlMilliseconds: number
  readonly report: Report
}

export function createUsageCache({ redis, prefix, ttlMilliseconds, report }: UsageCacheOptions): UsageCache {
  const keys = {
    epoch: `{${prefix}}:epoch`,
    writers: `{${prefix}}:writers`,
    usage: (scope: string) => `{${prefix}}:usage:${scope}`,
    writersOf: (scope: string) => `{${prefix}}:writers:${scope}`,
  }
  const instance = crypto.randomUUID()
  let tokens = 0
  const newToken = () => `${instance}/${(tokens++).toString(36)}`

  const debts = new Debts()
  const link = createRedisLink({
    redis,
    report,
    recover: () => debts.pay((owed) => runScript(redis, FORGET, ...forgetting('', owed))),
    isDone: () => debts.isEmpty,
  })

  /** Keys and values of the script. */
  function forgetting(token: string, { scopes, all }: Forgettable): [string[], string[]] {
    const ofScopes = scopes.flatMap((scope) => [keys.usage(scope), keys.writersOf(scope)])
    return [
      [keys.writers, keys.epoch, ...ofScopes],
      [token, all ? 'all' : ''],
    ]
  }

  /** Redis forgets it now, or as soon as it answers again. */
  async function forget(token: string, what: Forgettable): Promise<void> {
    const [names, values] = forgetting(token, what)
    const operation = 'usageCache.forget'
    const answer = await link.ask({ operation, script: FORGET, keys: names, values })
    if (answer === null) debts.add(what)
  }

  return {
    async read(scope) {
      // While Redis still holds what a write of this process outdated, it isn't asked.
      if (!debts.isEmpty) return null
      const answer = await link.ask({
        operation: 'usageCache.read',
        script: READ,
        keys: [keys.usage(scope), keys.writersOf(scope), keys.writers, keys.epoch],
        values: [`${ttlMilliseconds}`, newToken(), newToken(), `${EPOCH_LIFETIME}`],
      })
      switch (answer?.[0]) {
        case 'value': {
          const usage = readUsageText(answer[1]!)
          return usage && { usage }
        }
        case 'lease':
          return { lease: { text: answer[1]!, epoch: answer[2]! } }
        default:
          return null
      }
    },

    async store(scope, { text, epoch }, usage) {
      await link.ask({
        operation: 'usageCache.store',
        script: STORE,
        keys: [keys.usage(scope), keys.epoch],
        values: [text, epoch, usageText(usage)],
      })
    },

    async begin(scope) {
      const token = newToken()
      await link.ask({
        operation: 'usageCache.begin',
        script: BEGIN,
        keys: scope === null ? [keys.writers] : [keys.writersOf(scope), keys.usage(scope)],
        values: [token, `${LONGEST_WRITE}`],
      })
      return { token, scope }
    },

    async end({ token, scope }, touched) {
      await forget(token, forgettable(scope === null ? touched : [scope, ...touched]))
    },

    async abandon({ scope }, hidden) {
      // The mark stays until it counts no more: the database may finish the write that it didn't answer.
      await forget('', hidden || scope === null ? EVERYTHING : forgettable([scope]))
    },

    stop() {
      link.stop()
    },
  }
}
