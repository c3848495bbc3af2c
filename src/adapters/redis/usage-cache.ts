import type { ScopeUsage } from '../../core/store/records.js'
import type { Report } from '../../core/reporter.js'
import { Debts, forgettable, type Forgettable, type Mark } from './debts.js'
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

/** To take it away changes nothing, and fails where Redis takes no writes. */
const NO_MARK: Mark = { scope: null, token: '' }

/** A permission to put a usage into Redis, for as long as nobody changes the scope. */
export interface Lease {
  readonly text: string
  readonly epoch: string
}

/** A write under way. */
export interface PendingWrite {
  /** `null` where only the database knows whose object it concerns. */
  readonly scope: string | null
  /** What Redis was told of it, whether it answered or not. */
  readonly marks: readonly Mark[]
}

/** The usages of scopes in Redis. No call rejects, and none waits for a Redis that doesn't answer. */
export interface UsageCache {
  /** A usage that no write has outdated, or a lease, or neither. */
  read(scope: string): Promise<{ readonly usage: ScopeUsage } | { readonly lease: Lease } | null>
  store(scope: string, lease: Lease, usage: ScopeUsage): Promise<void>
  /** To be awaited before a write: from then on nobody relies on what was read before it. */
  begin(scope: string | null): Promise<PendingWrite>
  /** To be awaited before a write is acknowledged. `touched`: the scopes that the write named. */
  end(write: PendingWrite, touched: readonly string[] | 'all'): Promise<void>
  /** Instead of `end`, where a write failed: it may have happened, or may yet. `hidden`: in scopes that nobody knows. */
  abandon(write: PendingWrite, hidden: boolean): Promise<void>
  stop(): void
}

export interface UsageCacheOptions {
  readonly redis: RedisClient
  readonly prefix: string
  readonly ttlMilliseconds: number
  /** Milliseconds that a call waits for Redis at most. */
  readonly timeLimit: number
  readonly report: Report
}

export function createUsageCache(options: UsageCacheOptions): UsageCache {
  const { redis, prefix, ttlMilliseconds, timeLimit, report } = options
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
    timeLimit,
    report,
    recover: () =>
      debts.pay(({ marks, ...owed }) =>
        runScript(redis, FORGET, ...forgetting({ ...owed, marks: [...marks, NO_MARK] })),
      ),
    isDone: () => debts.isEmpty,
  })

  const writersOf = (scope: string | null) => (scope === null ? keys.writers : keys.writersOf(scope))

  /** Keys and values of the script. */
  function forgetting({ scopes, all, marks }: Forgettable): [string[], string[]] {
    return [
      [keys.epoch, ...scopes.map(keys.usage), ...marks.map(({ scope }) => writersOf(scope))],
      [all ? 'all' : '', `${scopes.length}`, ...marks.map(({ token }) => token)],
    ]
  }

  /** Redis forgets it now, or as soon as it answers again. */
  async function forget(what: Forgettable): Promise<void> {
    const [names, values] = forgetting(what)
    const question = { operation: 'usageCache.forget', script: FORGET, keys: names, values }
    if ((await link.ask(question)) !== null) return
    debts.add(what)
    // The link may have recovered between the failure and this line.
    link.recoverAgain()
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
      if (!link.isUp) return { scope, marks: [] }
      const token = newToken()
      await link.ask({
        operation: 'usageCache.begin',
        script: BEGIN,
        keys: scope === null ? [keys.writers] : [keys.writersOf(scope), keys.usage(scope)],
        values: [token, `${LONGEST_WRITE}`],
      })
      return { scope, marks: [{ scope, token }] }
    },

    async end({ scope, marks }, touched) {
      if (touched === 'all') await forget({ scopes: [], all: true, marks })
      else await forget(forgettable(scope === null ? touched : [scope, ...touched], marks))
    },

    async abandon({ scope }, hidden) {
      // The mark stays until it counts no more: the database may finish the write that it didn't answer.
      const all = hidden || scope === null
      await forget({ scopes: scope === null ? [] : [scope], all, marks: [] })
    },

    stop() {
      link.stop()
    },
  }
}
