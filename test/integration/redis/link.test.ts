import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { redisUsageCache, type RedisClient } from '@svc/db/redis'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { clientOf, describePrivateRedis, freshPrefix } from './servers.js'
import { aroundRedis } from './shared-store.js'
import { inAnHour, usage } from './two-processes.js'

const now = () => new Date()
const scope = 'scope'
let keys = 0
const file = (owner = scope) => ({
  scope: owner,
  bucket: 'bucket',
  key: `key ${keys++}`,
  declaredSize: 1,
  expiresAt: inAnHour(now),
})

describePrivateRedis('a Redis that', (program) => {
  let server: PrivateRedis
  let client: ReturnType<typeof clientOf>
  let database: StorageObjectStore
  let prefix: string
  beforeAll(async () => {
    server = await startRedis(program)
    client = clientOf(server.url)
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })
  beforeEach(() => {
    database = memoryAdapter()
    prefix = freshPrefix()
  })

  interface Watched {
    readonly store: StorageObjectStore
    readonly told: { message: string; cause?: unknown; operation: string }[]
    /** Commands that were sent, answered or not. */
    commands: number
    hits: number
    /** What each command is met with instead of Redis. */
    broken: (() => Promise<never>) | null
  }

  function watched(redis: RedisClient = client): Watched {
    const process: Watched = {
      told: [],
      commands: 0,
      hits: 0,
      broken: null,
      store: redisUsageCache(
        database,
        aroundRedis(redis, async (_method, call) => {
          process.commands++
          if (process.broken) return process.broken()
          const answer = await call()
          if (Array.isArray(answer) && answer[0] === 'value') process.hits++
          return answer
        }),
        {
          prefix,
          onError: (error, { operation }) =>
            void process.told.push({
              ...(error as Error),
              operation,
              message: (error as Error).message,
              cause: (error as Error).cause,
            }),
        },
      ),
    }
    return process
  }

  /** Reads until an answer comes from Redis. */
  async function untilUsed(process: Watched): Promise<void> {
    for (const { hits } = process; process.hits === hits;) {
      await process.store.getScopeUsage(scope)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  it('hangs delays nobody twice', async () => {
    const process = watched()
    await untilUsed(process)
    await server.halt()
    try {
      process.commands = 0
      for (let call = 0; call < 300; call++) {
        await process.store.getScopeUsage(scope)
        if (call % 10 === 0) await process.store.reserve(file())
      }
      // The one that nobody answered, and the one that waits until somebody does.
      expect(process.commands).toBe(2)
      expect(process.told).toMatchObject([
        { operation: 'usageCache.read', cause: { message: 'Redis did not answer within 200 ms.' } },
      ])
      expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 30))
    } finally {
      await server.resume()
    }
    await untilUsed(process)
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 30))
  })

  it('hangs delays of calls at once each one once', async () => {
    const process = watched()
    await untilUsed(process)
    await server.halt()
    try {
      process.commands = 0
      const writes = Array.from({ length: 50 }, () => process.store.reserve(file()))
      await Promise.all(writes)
      expect(process.commands).toBe(51)
      expect(process.told).toHaveLength(1)
    } finally {
      await server.resume()
    }
    await untilUsed(process)
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 50))
  })

  it('is out of reach for one process learns of its writes later', async () => {
    const [writer, reader] = [watched(), watched()]
    await untilUsed(reader)
    writer.broken = () => Promise.reject(new Error('READONLY You can not write to a replica.'))
    await writer.store.reserve(file())
    expect(writer.told).toMatchObject([
      { operation: 'usageCache.begin', cause: { message: 'READONLY You can not write to a replica.' } },
    ])
    // The other one can't know, for a while; this one does.
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))

    writer.broken = null
    while ((await reader.store.getScopeUsage(scope)).reservedFiles === 0) {
      expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await untilUsed(writer)
    expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('was out of reach for very many writes forgets everything', async () => {
    const [writer, reader] = [watched(), watched()]
    await untilUsed(reader)
    await database.reserve(file())
    writer.broken = () => Promise.reject(new Error('out of reach'))
    for (let i = 0; i < 1001; i++) await writer.store.reserve(file(`scope ${i}`))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    writer.broken = null
    while ((await reader.store.getScopeUsage(scope)).reservedFiles === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

  it('fails again within a second is told of when the second is over', async () => {
    const process = watched()
    process.broken = () => Promise.reject(new Error('first'))
    await process.store.getScopeUsage(scope)
    process.broken = null
    await untilUsed(process)
    process.broken = () => Promise.reject(new Error('second'))
    await process.store.getScopeUsage(scope)
    while (process.told.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(process.told.map(({ cause }) => (cause as Error).message)).toEqual(['first', 'second'])
    await process.store.close()
  })

  it('is away when the store is closed is not looked for any more', async () => {
    const process = watched()
    process.broken = () => Promise.reject(new Error('away'))
    await process.store.getScopeUsage(scope)
    await process.store.close()
    await new Promise((resolve) => setImmediate(resolve))
    const { commands } = process
    await process.store.reserve(file())
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(process.commands).toBe(commands)
  })

  it('answers nonsense is not believed', async () => {
    const process = watched()
    process.broken = (() => Promise.resolve({ value: '0 0 0 0' })) as unknown as () => Promise<never>
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    expect(process.told[0]?.cause).toBeInstanceOf(TypeError)
    await process.store.close()
  })

  it('fails to forget just as it is there again is told to forget once more', async () => {
    const process = watched()
    await untilUsed(process)
    const held: { resolve: (answer: unknown) => void; reject: (error: Error) => void }[] = []
    const hold = () => new Promise((resolve, reject) => held.push({ resolve, reject }))
    const refuse = () => Promise.reject(new Error('away'))
    const pass = () => undefined
    // Before the write, after it, the reading, and the looking whether Redis is there again.
    const incidents = [pass, hold, refuse, hold]
    const redis: RedisClient = {
      evalsha: (...args) => incidents.shift()?.() ?? client.evalsha(...args),
      eval: (...args) => client.eval(...args),
    }
    const other = watched(redis)
    const write = other.store.reserve(file())
    while (held.length < 1) await new Promise((resolve) => setImmediate(resolve))
    await other.store.getScopeUsage(scope)
    while (held.length < 2) await new Promise((resolve) => setImmediate(resolve))

    held[0]!.reject(new Error('away'))
    held[1]!.resolve(['forgotten'])

    await write
    await untilUsed(other)
    expect(await other.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('answers too late every time is waited for by nobody but the first', async () => {
    let reads = 0
    let looks = 0
    const slow: RedisClient = {
      async evalsha(...args) {
        if (args[1] === 4) reads++
        else looks++
        await new Promise((resolve) => setTimeout(resolve, 250))
        return client.evalsha(...args)
      },
      eval: (...args) => client.eval(...args),
    }
    const store = redisUsageCache(database, slow, { prefix, onError: () => {} })
    while (looks < 2) {
      await store.getScopeUsage(scope)
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(reads).toBe(1)
    await store.close()
  })

  it('has forgotten the scripts is sent them again', async () => {
    const process = watched()
    await untilUsed(process)
    await client.script('FLUSH')
    await process.store.reserve(file())
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(process.told).toEqual([])
  })

  describe('is out of memory', () => {
    beforeEach(() => client.config('SET', 'maxmemory', '1'))
    const enough = () => client.config('SET', 'maxmemory', '0')
    afterAll(enough)

    it('forgets all the same what a write has changed', async () => {
      const [writer, reader] = [watched(), watched()]
      await enough()
      await untilUsed(reader)
      await client.config('SET', 'maxmemory', '1')
      await writer.store.reserve(file())
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      await writer.store.reserve(file())
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
      expect(reader.told[0]?.message).toContain('maxmemory')
    })

    it('tells so once a second at most, and is used again', async () => {
      const process = watched()
      const start = performance.now()
      for (let read = 0; read < 50; read++) await process.store.getScopeUsage(scope)
      expect(process.told.length).toBeGreaterThan(0)
      expect(process.told.length).toBeLessThanOrEqual(1 + (performance.now() - start) / 1000)
      await enough()
      await untilUsed(process)
    })
  })
})
