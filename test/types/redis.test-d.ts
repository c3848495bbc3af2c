import { Redis, type Cluster } from 'ioredis'
import { describe, expectTypeOf, it } from 'vitest'
import type { ErrorContext, StorageObjectStore } from '@svc/db'
import { redisUsageCache, type RedisClient, type RedisUsageCacheOptions } from '@svc/db/redis'

declare const store: StorageObjectStore

describe('redisUsageCache()', () => {
  it('takes a store and an ioredis client, and returns a store', () => {
    const redis = new Redis({ lazyConnect: true })
    expectTypeOf(redisUsageCache(store, redis)).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(redis).toExtend<RedisClient>()
    expectTypeOf<Cluster>().toExtend<RedisClient>()
    // @ts-expect-error the client is required
    redisUsageCache(store)
    // @ts-expect-error not an ioredis client
    redisUsageCache(store, { get: async () => null })
    // @ts-expect-error not a store
    redisUsageCache({}, redis)
  })

  it('checks the types of its options', () => {
    const redis: RedisClient = new Redis({ lazyConnect: true })
    redisUsageCache(store, redis, { ttlSeconds: null, prefix: undefined, onError: null })
    redisUsageCache(store, redis, {
      onError: (error, context) => {
        expectTypeOf(error).toEqualTypeOf<unknown>()
        expectTypeOf(context).toEqualTypeOf<ErrorContext>()
      },
    })
    expectTypeOf<RedisUsageCacheOptions['ttlSeconds']>().toEqualTypeOf<number | null | undefined>()
    // @ts-expect-error seconds must be a number
    redisUsageCache(store, redis, { ttlSeconds: '60' })
    // @ts-expect-error unknown option
    redisUsageCache(store, redis, { ttl: 60 })
  })
})
