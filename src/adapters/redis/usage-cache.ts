import type { ScopeUsage } from '../../core/store/records.js'
import { createCircuitBreaker, type CircuitBreakerOptions } from './circuit-breaker.js'
import {
  invalidationOf,
  PendingInvalidations,
  type Invalidation,
  type Mark,
} from './pending-invalidations.js'
import { runScript, type ScriptCall } from './redis-client.js'
import { BEGIN, INVALIDATE, READ, STORE } from './scripts.js'

/**
 * Lifetime of a mark, in milliseconds. While it exists, readers bypass the cache, so they see a write at once, even if
 * its process dies. A write that was given up is marked again, because MongoDB can take 90 seconds to end its
 * transaction.
 */
const MARK_LIFETIME = 120_000

/** Milliseconds. Longer than the lifetime of any value, which is at most a day. */
const EPOCH_LIFETIME = 2 * 86_400_000

/** A mark that never exists. Removing it changes nothing, but fails if Redis is read-only. */
const NO_MARK: Mark = { scope: null, token: '' }

/** Permits storing a usage in Redis until the next write of the scope. */
interface Lease {
  readonly text: string
  readonly epoch: string
}

interface PendingWrite {
  /** The scopes that the call names. `null` if only the database knows the scope. */
  readonly scopes: readonly string[] | null
  /** The marks sent to Redis, whether or not it responded. */
  readonly marks: readonly Mark[]
}

export interface UsageCacheOptions extends Omit<CircuitBreakerOptions, 'recover' | 'isDone'> {
  readonly prefix: string
  readonly ttlMilliseconds: number
}

export type UsageCache = ReturnType<typeof createUsageCache>

/** Creates the cached usages. No call rejects, and only the first calls of an outage wait for the timeout. */
export function createUsageCache(options: UsageCacheOptions) {
  const { redis, prefix, ttlMilliseconds, timeout, report } = options
  const keys = {
    epoch: `{${prefix}}:epoch`,
    usage: (scope: string) => `{${prefix}}:usage:${scope}`,
    /** The writers of a scope, or those of unknown scopes for `null`. */
    writers: (scope: string | null) => `{${prefix}}:writers${scope === null ? '' : `:${scope}`}`,
  }
  // Drawn on first use, because workers have no random values while their modules load.
  let instance: string | undefined
  let tokens = 0
  const newToken = () => `${(instance ??= crypto.randomUUID())}/${(tokens++).toString(36)}`

  const pending = new PendingInvalidations()
  const breaker = createCircuitBreaker({
    redis,
    timeout,
    report,
    recover: () =>
      pending.flush(({ ended, ...rest }) =>
        runScript(redis, invalidating({ ...rest, ended: [...ended, NO_MARK] })),
      ),
    isDone: () => pending.isEmpty,
  })

  function invalidating({ scopes, all, ended, renewed }: Invalidation): ScriptCall {
    const marks = [...ended, ...renewed]
    const counts = [`${scopes.length}`, `${ended.length}`, `${MARK_LIFETIME}`]
    return {
      script: INVALIDATE,
      keys: [keys.epoch, ...scopes.map(keys.usage), ...marks.map(({ scope }) => keys.writers(scope))],
      values: [all ? 'all' : '', ...counts, ...marks.map(({ token }) => token)],
    }
  }

  /** Invalidates now, or as soon as Redis responds again. */
  async function invalidate(invalidation: Invalidation): Promise<void> {
    if ((await breaker.run('usageCache.forget', invalidating(invalidation))) !== null) return
    pending.add(invalidation)
    // Redis may have recovered between the failure and this line.
    breaker.recoverAgain()
  }

  return {
    /** Returns a current usage, or a lease to store one, or `null`. */
    async read(scope: string): Promise<{ readonly usage: ScopeUsage } | { readonly lease: Lease } | null> {
      // Redis may still hold a usage that a write of this process has made stale.
      if (!pending.isEmpty) return null
      const result = await breaker.run('usageCache.read', {
        script: READ,
        keys: [keys.usage(scope), keys.writers(scope), keys.writers(null), keys.epoch],
        values: [`${ttlMilliseconds}`, newToken(), newToken(), `${EPOCH_LIFETIME}`],
      })
      switch (result?.[0]) {
        case 'value': {
          const usage = readUsageText(result[1]!)
          return usage && { usage }
        }
        case 'lease':
          return { lease: { text: result[1]!, epoch: result[2]! } }
        default:
          return null
      }
    },

    async store(scope: string, { text, epoch }: Lease, usage: ScopeUsage): Promise<void> {
      const { bytes, files, reservedBytes, reservedFiles } = usage
      await breaker.run('usageCache.store', {
        script: STORE,
        keys: [keys.usage(scope), keys.epoch],
        values: [text, epoch, `${bytes} ${files} ${reservedBytes} ${reservedFiles}`],
      })
    },

    /** Await this before a write. From then on, usages that were read earlier are not used. */
    async begin(scopes: readonly string[] | null): Promise<PendingWrite> {
      if (!breaker.isUp) return { scopes, marks: [] }
      const token = newToken()
      await breaker.run('usageCache.begin', {
        script: BEGIN,
        keys: scopes?.flatMap((scope) => [keys.writers(scope), keys.usage(scope)]) ?? [keys.writers(null)],
        values: [token, `${MARK_LIFETIME}`],
      })
      return { scopes, marks: marksOf(scopes, token) }
    },

    /** Await this before acknowledging a write. `touched` holds the scopes that the write reported. */
    async end({ scopes, marks }: PendingWrite, touched: readonly string[] | 'all'): Promise<void> {
      if (touched === 'all') await invalidate({ scopes: [], all: true, ended: marks, renewed: [] })
      else await invalidate(invalidationOf([...(scopes ?? []), ...touched], marks))
    },

    /** Use this if a write failed: it may still take effect, in unknown scopes too if `mayTouchOthers`. */
    async abandon({ scopes, marks }: PendingWrite, mayTouchOthers: boolean): Promise<void> {
      // A write that began while Redis was down has no mark yet.
      const renewed = marks.length > 0 ? marks : marksOf(scopes, newToken())
      const all = mayTouchOthers || scopes === null
      await invalidate({ scopes: scopes ?? [], all, ended: [], renewed })
    },

    stop: () => breaker.stop(),
  }
}

/** Returns the marks of a write: one in each of its scopes, or one for all if they are not known. */
function marksOf(scopes: readonly string[] | null, token: string): Mark[] {
  return (scopes ?? [null]).map((scope) => ({ scope, token }))
}

/** Parses a usage from Redis. Returns `null` for any other text, which then wasn't written by this cache. */
function readUsageText(text: string): ScopeUsage | null {
  if (!/^\d+( \d+){3}$/.test(text)) return null
  const [bytes, files, reservedBytes, reservedFiles] = text.split(' ').map(Number)
  const usage = { bytes: bytes!, files: files!, reservedBytes: reservedBytes!, reservedFiles: reservedFiles! }
  return Object.values(usage).every(Number.isSafeInteger) ? usage : null
}
