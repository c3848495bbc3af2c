import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ScopeUsage, StorageObjectStore, StoreDriver } from '@svc/db'
import { clientOf, describeRedis } from './servers.js'
import { inAnHour, twoProcesses, usage, type TwoProcesses } from './two-processes.js'

const scope = 'scope'
const at = (key: string) => ({ bucket: 'bucket', key })

describeRedis('races for what lies in Redis', (url) => {
  const clients: [Redis, Redis] = [clientOf(url), clientOf(url)]
  afterAll(() => clients.forEach((client) => client.disconnect()))

  let time = Date.UTC(2026, 0, 1)
  const now = () => new Date(time)
  let processes: TwoProcesses
  beforeAll(async () => {
    // A command that Redis has to be sent the script for comes later than those that were made after it.
    processes = twoProcesses(clients, now)
    await processes.writer.store.reserve(file('a'))
    await processes.reader.store.getScopeUsage(scope)
    for (let trip = 0; trip < 2; trip++) await clients[1].ping()
  })
  beforeEach(() => {
    processes = twoProcesses(clients, now)
  })

  const file = (key: string, owner = scope) => ({
    scope: owner,
    ...at(key),
    declaredSize: 1,
    expiresAt: inAnHour(now),
  })

  /** Lets the reader's process put the usage into Redis, and proves that it is answered from there. */
  async function cached(owner = scope): Promise<void> {
    const { reader } = processes
    await reader.store.getScopeUsage(owner)
    const calls = reader.calls('usage')
    await reader.store.getScopeUsage(owner)
    expect(reader.calls('usage')).toBe(calls)
  }

  it('a reader that asked the database before a write does not store after it', async () => {
    const { reader, writer } = processes
    const held = reader.holdAfter('usage')
    const early = reader.store.getScopeUsage(scope)
    await held.reached
    await writer.store.reserve(file('a'))
    held.open()
    expect(await early).toEqual(usage(0, 0))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(await writer.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('nor does one that asked it while the write was under way', async () => {
    const { reader, writer } = processes
    const write = writer.holdBefore('reserve')
    const reserving = writer.store.reserve(file('a'))
    await write.reached
    const held = reader.holdAfter('usage')
    const early = reader.store.getScopeUsage(scope)
    await held.reached
    write.open()
    await reserving
    held.open()
    expect(await early).toEqual(usage(0, 0))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('nor one whose lease another reader got again after the write', async () => {
    const { reader, writer } = processes
    const held = reader.holdAfter('usage')
    const early = reader.store.getScopeUsage(scope)
    await held.reached
    await writer.store.reserve(file('a'))
    const between = writer.holdAfter('usage')
    const later = writer.store.getScopeUsage(scope)
    await between.reached
    held.open()
    await early
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    between.open()
    expect(await later).toEqual(usage(0, 1))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('readers that miss at once may all store', async () => {
    const { reader, writer } = processes
    const held = [reader.holdAfter('usage'), writer.holdAfter('usage')]
    const both = [reader.store.getScopeUsage(scope), writer.store.getScopeUsage(scope)]
    await Promise.all(held.map((gate) => gate.reached))
    held[0]!.open()
    await both[0]
    await reader.store.getScopeUsage(scope)
    expect(reader.calls('usage')).toBe(1)
    held[1]!.open()
    await both[1]
  })

  it('what the database has nobody is told otherwise, also before the write is acknowledged', async () => {
    const { database, reader, writer } = processes
    await cached()
    const write = writer.holdAfter('reserve')
    const reserving = writer.store.reserve(file('a'))
    await write.reached
    expect(await database.findPending(at('a'))).not.toBeNull()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    write.open()
    await reserving
    await cached()
  })

  it('the first of two writes to end leaves the other one under way', async () => {
    const { reader, writer } = processes
    await cached()
    const long = writer.holdAfter('reserve')
    const slow = writer.store.reserve(file('a'))
    await long.reached
    await writer.store.reserve(file('b'))
    const calls = reader.calls('usage')
    for (let read = 0; read < 2; read++) {
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
    }
    expect(reader.calls('usage')).toBe(calls + 2)
    long.open()
    await slow
    await cached()
  })

  it('a process that dies between the write and its answer leaves nothing old behind', async () => {
    const { reader, writer } = processes
    await cached()
    const death = writer.holdAfter('reserve')
    void writer.store.reserve(file('a'))
    await death.reached
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    // Its mark ends by itself.
    expect(await clients[0].pexpire(`{${processes.prefix}}:writers:${scope}`, 0)).toBe(1)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    await cached()
  })

  it.each(['done', 'late'] as const)('a write whose answer was lost is seen, if it was %s', async (when) => {
    const { reader, writer } = processes
    await cached()
    const doLate = writer.loseAnswer('confirm', when)
    await writer.store.reserve(file('a'))
    await expect(writer.store.confirm({ ...at('a'), scope, size: 1 })).rejects.toThrow('lost')
    expect(await reader.store.getScopeUsage(scope)).toEqual(when === 'done' ? usage(1, 0) : usage(0, 1))
    await doLate()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 0))
  })

  it('a lost answer hides no scope that the call names', async () => {
    const { reader, writer } = processes
    await cached('bystander')
    writer.loseAnswer('confirm', 'done')
    await writer.store.reserve(file('a'))
    await expect(writer.store.confirm({ ...at('a'), scope, size: 1 })).rejects.toThrow('lost')
    const calls = reader.calls('usage')
    await reader.store.getScopeUsage('bystander')
    expect(reader.calls('usage')).toBe(calls)
  })

  it('a reserve that drops the lapsed reservation of another scope is seen in both', async () => {
    const { reader, writer } = processes
    await writer.store.reserve(file('a', 'other'))
    time += 3_600_000
    await cached()
    await cached('other')
    await writer.store.reserve(file('a'))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(await reader.store.getScopeUsage('other')).toEqual(usage(0, 0))
  })

  it('also where the answer is lost that would have named it', async () => {
    const { reader, writer } = processes
    await writer.store.reserve(file('a', 'other'))
    time += 3_600_000
    await cached('other')
    writer.loseAnswer('reserve', 'done')
    await expect(writer.store.reserve(file('a'))).rejects.toThrow('lost')
    expect(await reader.store.getScopeUsage('other')).toEqual(usage(0, 0))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it.each<
    [method: keyof StoreDriver, call: (store: StorageObjectStore) => Promise<unknown>, after: ScopeUsage]
  >([
    ['confirm', (store) => store.confirm({ ...at('a'), size: 1 }), usage(1, 0)],
    ['release', (store) => store.release(at('a')), usage(0, 0)],
    ['remove', (store) => store.remove(at('a')), usage(0, 0)],
    ['purgeExpired', (store) => store.purgeExpired(), usage(0, 0)],
  ])(
    '%s without a scope is seen as soon as it is in the database, and after a lost answer',
    async (method, call, expected) => {
      for (const incident of ['none', 'held', 'lost'] as const) {
        processes = twoProcesses(clients, now)
        const { reader, writer } = processes
        await writer.store.reserve(file('a'))
        time += 3_600_000
        await cached()
        await cached('bystander')
        if (incident === 'none') {
          await call(writer.store)
        } else if (incident === 'held') {
          const held = writer.holdAfter(method)
          const writing = call(writer.store)
          await held.reached
          expect(await reader.store.getScopeUsage(scope)).toEqual(expected)
          held.open()
          await writing
          // Others have lost nothing.
          const calls = reader.calls('usage')
          await reader.store.getScopeUsage('bystander')
          expect(reader.calls('usage')).toBe(calls)
        } else {
          writer.loseAnswer(method, 'done')
          await expect(call(writer.store)).rejects.toThrow('lost')
        }
        expect(await reader.store.getScopeUsage(scope)).toEqual(expected)
      }
    },
  )

  it.each([undefined, scope])(
    'what a part of a purge did unseen, or does late, is seen, asked for scope %s',
    async (purged) => {
      const { reader, writer, writeBesideTheCache } = processes
      await cached()
      await writeBesideTheCache(scope)
      writer.answerNext('purgeExpired', { rows: [], scopes: [], isUncertain: true })
      await writer.store.purgeExpired({ scope: purged })
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      await writeBesideTheCache(scope)
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
    },
  )

  it('a write that is refused leaves no mark', async () => {
    const { writer } = processes
    await expect(writer.store.confirm({ ...at('none'), scope, size: 1 })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
    const refused = writer.store.reserve({ ...file('a'), quota: { maxFiles: 0 } })
    await expect(refused).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await cached()
  })

  it('what changes no usage leaves it where it is', async () => {
    const { reader, writer } = processes
    const { id } = await writer.store.reserve(file('a'))
    await cached()
    const calls = reader.calls('usage')
    await writer.store.setUploadId({ ...at('a'), id, uploadId: 'upload' })
    await writer.store.purgeDeleted({ before: now() })
    await writer.store.forgetLeftover({ attemptId: id })
    await writer.store.checkUsage()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(reader.calls('usage')).toBe(calls)
  })

  it.each([undefined, scope])('a repair of what was wrong is seen, asked for scope %s', async (repaired) => {
    const { reader, writer, writeBesideTheCache } = processes
    await cached()
    await writeBesideTheCache(scope)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    // A try before this one has repaired it, and lost its answer.
    writer.answerNext('repairUsage', [])
    await writer.store.repairUsage(repaired)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('a write that touched more scopes than can be named makes all forgotten', async () => {
    const { reader, writer, writeBesideTheCache } = processes
    await cached()
    await writeBesideTheCache(scope)
    const others = Array.from({ length: 1001 }, (_, i) => `scope ${i}`)
    writer.answerNext('purgeExpired', { rows: [], scopes: others })
    await writer.store.purgeExpired()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('Redis may lose all it has in the middle of a write', async () => {
    const { prefix, reader, writer } = processes
    const write = writer.holdBefore('reserve')
    const reserving = writer.store.reserve(file('a'))
    await write.reached
    await clients[0].del(...(await keysOf(prefix)))
    await cached()
    write.open()
    await reserving
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('what somebody else put there is no usage', async () => {
    const { prefix, reader, writeBesideTheCache } = processes
    await cached()
    await writeBesideTheCache(scope)
    const key = `{${prefix}}:usage:${scope}`
    const [epoch] = (await clients[0].get(key))!.split(' ')
    for (const text of ['0 0 0', '0 0 0 0 0', '-1 0 0 0', '9007199254740993 0 0 0', 'null']) {
      await clients[0].set(key, `${epoch} V ${text}`)
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    }
    await clients[0].set(key, 'anything else')
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('a writer beside the cache is seen when the lifetime is over, which begins before the database is asked', async () => {
    const { prefix, reader, writeBesideTheCache } = processes
    const key = `{${prefix}}:usage:${scope}`
    const held = reader.holdBefore('usage')
    const reading = reader.store.getScopeUsage(scope)
    await held.reached
    expect(await clients[0].pttl(key)).toBeGreaterThan(0)
    await clients[0].pexpire(key, 20_000)
    held.open()
    await reading
    await cached()
    expect(await clients[0].pttl(key)).toBeLessThanOrEqual(20_000)

    await writeBesideTheCache(scope)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    await clients[0].pexpire(key, 0)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  async function keysOf(prefix: string): Promise<string[]> {
    const keys = await clients[0].keys('*')
    return keys.filter((key) => key.startsWith(`{${prefix}}`))
  }
})
