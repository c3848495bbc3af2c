import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { redisUsageCache, type RedisClient } from '@svc/db/redis'
import { until } from '../../until.js'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { clientOf, describePrivateRedis, freshPrefix } from './redis-servers.js'
import { wrapDriver, wrapRedis } from './shared-store.js'
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

describePrivateRedis('the cache', (program) => {
  let server: PrivateRedis
  let client: ReturnType<typeof clientOf>
  let database: StorageObjectStore
  let prefix: string
  /** Number of commands without a response. */
  let inProgress = 0
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
    // No time passes unless a test lets it, so a healthy Redis never times out.
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  interface Watched {
    readonly store: StorageObjectStore
    /** Reports to `onError`. */
    readonly errors: { message: string; cause?: unknown; operation: string }[]
    /** Commands sent, with or without a response. */
    commands: number
    hits: number
    /** Replaces Redis if set. */
    broken: (() => Promise<never>) | null
  }

  function watched(redis: RedisClient = client, store = database): Watched {
    const process: Watched = {
      errors: [],
      commands: 0,
      hits: 0,
      broken: null,
      store: redisUsageCache(
        store,
        wrapRedis(redis, async (_method, call) => {
          process.commands++
          inProgress++
          try {
            const result = await (process.broken ?? call)()
            if (Array.isArray(result) && result[0] === 'value') process.hits++
            return result
          } finally {
            inProgress--
          }
        }),
        {
          prefix,
          onError: (error, { operation }) =>
            void process.errors.push({
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

  /** Lets a second pass, after which the cache probes a failed Redis. Commands in progress would time out, so it waits for them. */
  async function passSecond(): Promise<void> {
    if (inProgress === 0) await vi.advanceTimersByTimeAsync(1000)
  }

  /** Reads until a usage comes from Redis. */
  async function untilUsed(process: Watched): Promise<void> {
    const { hits } = process
    await until(async () => {
      const { commands } = process
      await process.store.getScopeUsage(scope)
      if (process.commands === commands) await passSecond()
      return process.hits > hits
    })
  }

  it('delays one call only when Redis hangs', async () => {
    const process = watched()
    await untilUsed(process)
    await server.halt()
    try {
      process.commands = 0
      const delayed = process.store.getScopeUsage(scope)
      await until(() => process.commands === 1)
      await vi.advanceTimersByTimeAsync(200)
      await delayed
      for (let call = 0; call < 10; call++) {
        await process.store.getScopeUsage(scope)
        await process.store.reserve(file())
      }
      // The command that timed out, and the probe, whose script is hashed first.
      await until(() => process.commands === 2)
      expect(process.errors).toMatchObject([
        { operation: 'usageCache.read', cause: { message: 'Redis did not respond within 200 ms.' } },
      ])
      expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 10))
    } finally {
      await server.resume()
    }
    await untilUsed(process)
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 10))
  })

  it('delays each of several concurrent calls once when Redis hangs', async () => {
    const process = watched()
    await untilUsed(process)
    await server.halt()
    try {
      process.commands = 0
      const writes = Array.from({ length: 50 }, () => process.store.reserve(file()))
      await until(() => process.commands === 50)
      await vi.advanceTimersByTimeAsync(200)
      await Promise.all(writes)
      await until(() => process.commands === 51)
      expect(process.errors).toHaveLength(1)
    } finally {
      await server.resume()
    }
    await untilUsed(process)
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 50))
  })

  it('sends the invalidations of an outage once Redis responds again', async () => {
    const [writer, reader] = [watched(), watched()]
    await untilUsed(reader)
    writer.broken = () => Promise.reject(new Error('READONLY You can not write to a replica.'))
    await writer.store.reserve(file())
    expect(writer.errors).toMatchObject([
      { operation: 'usageCache.begin', cause: { message: 'READONLY You can not write to a replica.' } },
    ])
    // The other process can't know yet, but this one does.
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))

    writer.broken = null
    await until(async () => {
      await passSecond()
      expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      return (await reader.store.getScopeUsage(scope)).reservedFiles > 0
    })
    await untilUsed(writer)
    expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('invalidates all usages after an outage with very many writes', async () => {
    const [writer, reader] = [watched(), watched()]
    await untilUsed(reader)
    await database.reserve(file())
    writer.broken = () => Promise.reject(new Error('out of reach'))
    for (let i = 0; i < 1001; i++) await writer.store.reserve(file(`scope ${i}`))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    writer.broken = null
    await until(async () => {
      await passSecond()
      return (await reader.store.getScopeUsage(scope)).reservedFiles > 0
    })
  })

  it.each([1, 1001])(
    'marks writes that were given up during an outage once Redis responds again (scopes: %d)',
    async (scopes) => {
      const givenUp: (() => Promise<unknown>)[] = []
      const failing = wrapDriver(database, async <T>(method: string, call: () => Promise<T>) => {
        if (method !== 'confirm') return call()
        givenUp.push(call)
        throw new Error('the call took too long')
      })
      const [writer, reader] = [watched(client, failing), watched()]
      const owners = Array.from({ length: scopes }, (_, at) => (at === 0 ? scope : `scope ${at}`))
      const files = await Promise.all(owners.map((owner) => database.reserve(file(owner))))
      await untilUsed(reader)
      writer.broken = () => Promise.reject(new Error('out of reach'))
      for (const row of files) {
        await expect(writer.store.confirm({ ...row, size: 1 })).rejects.toThrow('too long')
      }
      writer.broken = null
      // Until the mark arrives, the reader gets the usage from Redis.
      await until(async () => {
        await passSecond()
        const { hits } = reader
        expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
        return reader.hits === hits
      })
      await givenUp[0]!()
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 0))
    },
  )

  it('reports a second failure within a second at the end of that second', async () => {
    const process = watched()
    const failOnce = async (message: string) => {
      process.broken = () => {
        process.broken = null
        return Promise.reject(new Error(message))
      }
      await process.store.getScopeUsage(scope)
    }
    const causes = () => process.errors.map(({ cause }) => (cause as Error).message)
    await failOnce('first')
    await until(() => process.store.getScopeUsage(scope).then(() => process.hits > 0))
    await failOnce('second')
    await vi.advanceTimersByTimeAsync(999)
    expect(causes()).toEqual(['first'])
    await vi.advanceTimersByTimeAsync(1)
    expect(causes()).toEqual(['first', 'second'])
    await process.store.close()
  })

  it.each(['refuses commands', 'hangs'])(
    'reminds once a minute that a Redis which %s misses writes',
    async (what) => {
      const [writer, reader] = [watched(), watched()]
      for (const process of [writer, reader]) {
        process.broken = () => Promise.reject(new Error('READONLY You can not write to a replica.'))
      }
      await Promise.all([writer.store.reserve(file()), reader.store.getScopeUsage(scope)])
      expect(writer.errors).toHaveLength(1)
      if (what === 'hangs') {
        await until(() => inProgress === 0)
        await server.halt()
        for (const process of [writer, reader]) process.broken = null
      }
      try {
        await vi.advanceTimersByTimeAsync(120_000)
      } finally {
        await server.resume()
      }
      expect(writer.errors.slice(1)).toMatchObject(
        [1, 2].map(() => ({
          operation: 'usageCache.forget',
          message: expect.stringContaining('Redis still fails') as string,
          cause: writer.errors[0]!.cause,
        })),
      )
      // Only its reads can't reach Redis.
      expect(reader.errors).toHaveLength(1)
      for (const { store } of [writer, reader]) await store.close()
    },
  )

  it('stops probing Redis when the store is closed', async () => {
    const process = watched()
    process.broken = () => Promise.reject(new Error('down'))
    await process.store.getScopeUsage(scope)
    await until(() => process.commands === 2)
    await process.store.close()
    await vi.advanceTimersByTimeAsync(10_000)
    await process.store.reserve(file())
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(process.commands).toBe(2)
  })

  it('bypasses a Redis that returns unexpected values', async () => {
    const process = watched()
    process.broken = (() => Promise.resolve({ value: '0 0 0 0' })) as unknown as () => Promise<never>
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    expect(process.errors[0]?.cause).toBeInstanceOf(TypeError)
    await process.store.close()
  })

  it('repeats an invalidation that fails while Redis recovers', async () => {
    const process = watched()
    await untilUsed(process)
    const held: { resolve: (result: unknown) => void; reject: (error: Error) => void }[] = []
    const hold = () => new Promise((resolve, reject) => held.push({ resolve, reject }))
    const refuse = () => Promise.reject(new Error('down'))
    const pass = () => undefined
    // The commands before the write and after it, of the read, and of the probe.
    const incidents = [pass, hold, refuse, hold]
    const redis: RedisClient = {
      evalsha: (...args) => incidents.shift()?.() ?? client.evalsha(...args),
      eval: (...args) => client.eval(...args),
    }
    const other = watched(redis)
    const write = other.store.reserve(file())
    await until(() => held.length === 1)
    await other.store.getScopeUsage(scope)
    await until(() => held.length === 2)

    held[0]!.reject(new Error('down'))
    held[1]!.resolve(['forgotten'])

    await write
    await untilUsed(other)
    expect(await other.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('delays only the first call when Redis always responds too late', async () => {
    let reads = 0
    let probes = 0
    const slow: RedisClient = {
      async evalsha(...args) {
        if (args[1] === 4) reads++
        else probes++
        await new Promise((resolve) => setTimeout(resolve, 250))
        return client.evalsha(...args)
      },
      eval: (...args) => client.eval(...args),
    }
    const store = redisUsageCache(database, slow, { prefix, onError: () => {} })
    const first = store.getScopeUsage(scope)
    await until(() => reads === 1)
    await vi.advanceTimersByTimeAsync(250)
    await first
    await until(async () => {
      void store.getScopeUsage(scope)
      await vi.advanceTimersByTimeAsync(250)
      return probes === 3 || reads > 1
    })
    expect(reads).toBe(1)
    await store.close()
  })

  it('sends the scripts again when Redis has lost them', async () => {
    const process = watched()
    await untilUsed(process)
    await client.script('FLUSH')
    await process.store.reserve(file())
    expect(await process.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(process.errors).toEqual([])
  })

  describe('with a Redis that is out of memory', () => {
    beforeEach(() => client.config('SET', 'maxmemory', '1'))
    const enough = () => client.config('SET', 'maxmemory', '0')
    afterAll(enough)

    it('still invalidates what a write has changed', async () => {
      const [writer, reader] = [watched(), watched()]
      await enough()
      await untilUsed(reader)
      await client.config('SET', 'maxmemory', '1')
      await writer.store.reserve(file())
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      await writer.store.reserve(file())
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
      expect(reader.errors[0]?.message).toContain('maxmemory')
    })

    it('reports it at most once a second, and uses Redis again afterwards', async () => {
      const process = watched()
      for (let read = 0; read < 50; read++) await process.store.getScopeUsage(scope)
      expect(process.errors).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1000)
      expect(process.errors).toHaveLength(2)
      await enough()
      await untilUsed(process)
    })
  })
})
