import { afterEach, describe, expect, it, vi } from 'vitest'
import { memoryAdapter } from '@svc/db/memory'
import { redisUsageCache, type RedisClient, type RedisUsageCacheOptions } from '@svc/db/redis'

const redis: RedisClient = { evalsha: async () => ['busy'], eval: async () => ['busy'] }

describe('redisUsageCache refuses', () => {
  it.each([
    ['a copy of a store', { ...memoryAdapter() }],
    ['undefined', undefined],
  ])('%s as a store', (_what, store) => {
    expect(() => redisUsageCache(store as never, redis)).toThrow(TypeError)
    expect(() => redisUsageCache(store as never, redis)).toThrow('createStore()')
  })

  it.each([undefined, null, {}, 'redis://127.0.0.1', { eval: async () => null }])(
    '%o as a client',
    (client) => {
      expect(() => redisUsageCache(memoryAdapter(), client as never)).toThrow(
        new TypeError('redisUsageCache: redis must be a client of ioredis, a Redis or a Cluster.'),
      )
    },
  )

  it.each<RedisUsageCacheOptions>([
    { ttlSeconds: 0 },
    { ttlSeconds: 0.5 },
    { ttlSeconds: 86_401 },
    { ttlSeconds: NaN },
    { ttlSeconds: '60' as never },
    { prefix: '' },
    { prefix: 'a{b' },
    { prefix: '}' },
    { prefix: 'a'.repeat(256) },
    { prefix: 5 as never },
  ])('%o', (options) => {
    const [name = ''] = Object.keys(options)
    expect(() => redisUsageCache(memoryAdapter(), redis, options)).toThrow(TypeError)
    expect(() => redisUsageCache(memoryAdapter(), redis, options)).toThrow(name)
  })
})

it('redisUsageCache accepts null options, keeps the clock of the store and wraps its own result', async () => {
  const now = () => new Date(Date.UTC(2026, 0, 1))
  const store = redisUsageCache(memoryAdapter({ now }), redis, {
    ttlSeconds: null,
    prefix: null,
    onError: null,
  })
  const input = {
    scope: 's',
    bucket: 'b',
    key: 'k',
    declaredSize: 1,
    expiresAt: new Date(Date.UTC(2027, 0, 1)),
  }
  expect(await store.reserve(input)).toMatchObject({ createdAt: now() })
  expect(await redisUsageCache(store, redis).getScopeUsage('s')).toMatchObject({ reservedFiles: 1 })
})

it('redisUsageCache accepts a store of another copy of the library, as ESM and CommonJS load two', async () => {
  vi.resetModules()
  const copy = await import('@svc/db/memory')
  vi.resetModules()
  expect(copy.memoryAdapter).not.toBe(memoryAdapter)
  expect(() => redisUsageCache(copy.memoryAdapter(), redis)).not.toThrow()
})

describe('redisUsageCache without a global crypto', () => {
  afterEach(() => {
    vi.unstubAllGlobals()
    vi.resetModules()
  })

  it('loads, and can be created', async () => {
    vi.stubGlobal('crypto', undefined)
    vi.resetModules()
    const rejections: unknown[] = []
    const collect = (reason: unknown) => void rejections.push(reason)
    process.on('unhandledRejection', collect)
    try {
      const redisEntry = await import('@svc/db/redis')
      const { memoryAdapter: createStore } = await import('@svc/db/memory')
      expect(() => redisEntry.redisUsageCache(createStore(), redis)).not.toThrow()
      // Unhandled rejections are reported before the next timers run.
      await new Promise((resolve) => setTimeout(resolve))
      expect(rejections).toEqual([])
    } finally {
      process.off('unhandledRejection', collect)
    }
  })
})
