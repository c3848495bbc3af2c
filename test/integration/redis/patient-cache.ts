import type { StorageObjectStore } from '@svc/db'
import type { RedisClient } from '@svc/db/redis'
import { cachedStore } from '../../../src/adapters/redis/cached-store.js'
import { createReport } from '../../../src/core/reporter.js'
import { partsOf } from '../../../src/core/store/store-parts.js'

export interface PatientCacheOptions {
  readonly prefix: string
  readonly ttlSeconds?: number
  readonly onError: (error: unknown) => unknown
}

/**
 * As `redisUsageCache`, for a Redis that is there: on a machine that is too busy to let it answer in time, a test of what
 * holds while Redis takes everything would be one of what holds while it doesn't.
 */
export function patientCache(
  store: StorageObjectStore,
  redis: RedisClient,
  { prefix, ttlSeconds = 60, onError }: PatientCacheOptions,
): StorageObjectStore {
  return cachedStore(partsOf(store)!, {
    redis,
    prefix,
    ttlMilliseconds: ttlSeconds * 1000,
    timeout: 20_000,
    report: createReport(onError),
  })
}
