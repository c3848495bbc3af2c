import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { createReport, type ErrorListener } from '../../core/reporter.js'
import { partsOf } from '../../core/store/store-parts.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { shown } from '../../core/store/validation/checks.js'
import { cachedStore } from './cached-store.js'
import type { RedisClient } from './redis-client.js'

export type { RedisClient } from './redis-client.js'

const DEFAULT_TTL = 60
const MAX_TTL = 86_400
const DEFAULT_PREFIX = 'svc-db'
const MAX_PREFIX = 255

/** Milliseconds. Many times what a nearby Redis takes, and an acceptable delay for one call per outage. */
const TIMEOUT = 200

export interface RedisUsageCacheOptions {
  /**
   * Lifetime of a cached usage, in whole seconds from 1 to 86400 (a day). It limits how stale a usage can be if a
   * process writes without the cache, or if Redis loses data. Default: 60.
   */
  readonly ttlSeconds?: number | null | undefined
  /**
   * Prefix of the Redis keys, which appears in braces. Use a different one for each database (or schema, or set of
   * collections), otherwise their usages mix. 1 to 255 characters without braces. Default: `svc-db`.
   */
  readonly prefix?: string | null | undefined
  /**
   * Called when Redis fails or refuses a write: once per outage, again each minute in which writes can't reach Redis, and at most
   * once a second. Errors that it throws are ignored. Default: `console.error`.
   */
  readonly onError?: ErrorListener | null | undefined
}

const OPTIONS = namesOf<RedisUsageCacheOptions>({ ttlSeconds: true, prefix: true, onError: true })
const checks = new OptionChecks('redisUsageCache')

/**
 * Wraps a store so that `getScopeUsage` is served from Redis when possible. Use it, with the same prefix, in every
 * process that writes to the database. Quotas don't depend on it: `reserve` and `confirm` check them in the database.
 * If Redis is down, hangs or loses data, everything works as without it. You configure and close the client.
 *
 * @throws TypeError if `store` was not returned by an adapter or `createStore()`, if `redis` is not an `ioredis`
 * client, or if an option is invalid.
 *
 * @example
 * import { Redis } from 'ioredis'
 * import { postgresAdapter } from '@svc/db/postgres'
 * import { redisUsageCache } from '@svc/db/redis'
 *
 * const store = redisUsageCache(postgresAdapter(pool), new Redis(), { ttlSeconds: 60 })
 */
export function redisUsageCache(
  store: StorageObjectStore,
  redis: RedisClient,
  options?: RedisUsageCacheOptions | null,
): StorageObjectStore {
  const parts = partsOf(store)
  if (parts === null) {
    throw checks.error(
      'store must be one that an adapter or createStore() returned, not a copy or a wrapper, which would hide its driver.',
    )
  }
  const has = (method: string) => typeof (Object(redis) as Record<string, unknown>)[method] === 'function'
  if (!has('evalsha') || !has('eval'))
    throw checks.error('redis must be a client of ioredis, a Redis or a Cluster.')
  const given = checks.optionalOptions(options, OPTIONS)
  const ttlSeconds = checks.integer('ttlSeconds', given.ttlSeconds ?? DEFAULT_TTL, 1, MAX_TTL)
  const prefix = given.prefix ?? DEFAULT_PREFIX
  // A brace would end the hash tag, which keeps all keys on one node of a cluster.
  if (typeof prefix !== 'string' || !/^[^{}]+$/u.test(prefix) || prefix.length > MAX_PREFIX) {
    throw checks.error(
      `prefix must be a string of 1 to ${MAX_PREFIX} characters without braces (got ${shown(prefix)}).`,
    )
  }
  const onError = checks.function('onError', given.onError)

  return cachedStore(parts, {
    redis,
    prefix,
    ttlMilliseconds: ttlSeconds * 1000,
    timeout: TIMEOUT,
    report: createReport(onError),
  })
}
