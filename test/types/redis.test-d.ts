import { Redis, type Cluster } from 'ioredis'
import { describe, expectTypeOf, it } from 'vitest'
import type { ErrorContext, StorageObjectStore } from '@svc/db'
import { redisUsageCache, type RedisClient, type RedisUsageCacheOptions } from '@svc/db/redis'

declare const store: StorageObjectStore

describe('redisUsageCache()', () => {
  it('takes a store and a client of ioredis, and is a store', () => {
    const redis = new Redis({ lazyConnect: true })
    expectTypeOf(redisUsageCache(store, redis)).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(redis).toExtend<RedisClient>()
    expectTypeOf<Cluster>().toExtend<RedisClient>()
    // @ts-expect-error a client is needed
    redisUsageCache(store)
    // @ts-expect-error no client
    redisUsageCache(store, { get: async () => null })
    // @ts-expect-error no store
    redisUsageCache({}, redis)
  })

  it('takes no unknown option, and each of its kind', () => {
    const redis: RedisClient = new Redis({ lazyConnect: true })
    redisUsageCache(store, redis, { ttlSeconds: null, prefix: undefined, onError: null })
    redisUsageCache(store, redis, {
      onError: (error, context) => {
        expectTypeOf(error).toEqualTypeOf<unknown>()
        expectTypeOf(context).toEqualTypeOf<ErrorContext>()
      },
    })
    expectTypeOf<RedisUsageCacheOptions['ttlSeconds']>().toEqualTypeOf<number | null | undefined>()
    // @ts-expect-error seconds are a number
    redisUsageCache(store, redis, { ttlSeconds: '60' })
    // @ts-expect-error no such option
    redisUsageCache(store, redis, { ttl: 60 })
  })
})
