import type { StorageObjectStore } from '@svc/db'
import type { RedisClient } from '@svc/db/redis'
import { cachedStore } from '../../../src/adapters/redis/cached-store.js'
import { createReport } from '../../../src/core/reporter.js'
import { partsOf } from '../../../src/core/store/store-parts.js'

export interface LongTimeoutCacheOptions {
  readonly prefix: string
  readonly ttlSeconds?: number
  readonly onError: (error: unknown) => unknown
  /** Milliseconds. Default: longer than any test. */
  readonly timeout?: number
}

/**
 * Like `redisUsageCache`, with a timeout that a busy machine doesn't reach. Otherwise a test of a reliable Redis might
 * silently test the fallback to the database.
 */
export function longTimeoutCache(
  store: StorageObjectStore,
  redis: RedisClient,
  { prefix, ttlSeconds = 60, onError, timeout = 3_600_000 }: LongTimeoutCacheOptions,
): StorageObjectStore {
  return cachedStore(partsOf(store)!, {
    redis,
    prefix,
    ttlMilliseconds: ttlSeconds * 1000,
    timeout,
    report: createReport(onError),
  })
}
