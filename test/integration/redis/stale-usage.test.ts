import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ScopeUsage, StorageObjectStore } from '@svc/db'
import type { StoreDriver } from '@svc/db/adapter'
import { clientOf, describeRedis } from './redis-servers.js'
import { inAnHour, loadScripts, twoProcesses, usage, type TwoProcesses } from './two-processes.js'

const scope = 'scope'
const at = (key: string) => ({ bucket: 'bucket', key })

describeRedis('the cache never returns a stale usage:', (url) => {
  const clients: [Redis, Redis] = [clientOf(url), clientOf(url)]
  afterAll(() => clients.forEach((client) => client.disconnect()))

  let time = Date.UTC(2026, 0, 1)
  const now = () => new Date(time)
  let processes: TwoProcesses
  beforeAll(() => loadScripts(clients, now))
  beforeEach(() => {
    processes = twoProcesses(clients, now)
  })

  const file = (key: string, owner = scope) => ({
    scope: owner,
    ...at(key),
    declaredSize: 1,
    expiresAt: inAnHour(now),
  })

  /** Lets the reader cache the usage, and expects that it then comes from Redis. */
  async function expectCached(owner = scope): Promise<void> {
    const { reader } = processes
    await reader.store.getScopeUsage(owner)
    const calls = reader.calls('usage')
    await reader.store.getScopeUsage(owner)
    expect(reader.calls('usage')).toBe(calls)
  }

  it('a reader that read the database before a write does not store its usage after the write', async () => {
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

  it('a reader that read the database during a write does not store its usage after the write', async () => {
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

  it('a reader with an old lease does not store its usage when another reader has a new lease', async () => {
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

  it('concurrent readers may all store the same usage', async () => {
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

  it('readers see a write that the database has, even before it is acknowledged', async () => {
    const { database, reader, writer } = processes
    await expectCached()
    const write = writer.holdAfter('reserve')
    const reserving = writer.store.reserve(file('a'))
    await write.reached
    expect(await database.findPending(at('a'))).not.toBeNull()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    write.open()
    await reserving
    await expectCached()
  })

  it('the end of one write leaves the mark of another one', async () => {
    const { reader, writer } = processes
    await expectCached()
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
    await expectCached()
  })

  it('a process that dies before its write is acknowledged leaves no stale usage', async () => {
    const { reader, writer } = processes
    await expectCached()
    const death = writer.holdAfter('reserve')
    void writer.store.reserve(file('a'))
    await death.reached
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    // Its mark expires.
    expect(await clients[0].pexpire(`{${processes.prefix}}:writers:${scope}`, 0)).toBe(1)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    await expectCached()
  })

  it.each(['done', 'late'] as const)(
    'readers see a write whose response was lost (carried out: %s)',
    async (when) => {
      const { reader, writer } = processes
      await expectCached()
      const carryOut = writer.loseResponse('confirm', when)
      await writer.store.reserve(file('a'))
      await expect(writer.store.confirm({ ...at('a'), scope, size: 1 })).rejects.toThrow('lost')
      expect(await reader.store.getScopeUsage(scope)).toEqual(when === 'done' ? usage(1, 0) : usage(0, 1))
      await carryOut()
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 0))
    },
  )

  it.each([scope, undefined])(
    'readers see a write that takes effect after it was given up, however long it was in progress (scope: %s)',
    async (named) => {
      const { prefix, reader, writer } = processes
      await writer.store.reserve(file('a'))
      await expectCached()
      const slow = writer.giveUp('confirm')
      const confirming = writer.store.confirm({ ...at('a'), scope: named, size: 1 })
      await slow.reached
      // The mark of the write expires.
      const writers = `{${prefix}}:writers${named === undefined ? '' : `:${named}`}`
      expect(await clients[0].pexpire(writers, 0)).toBe(1)
      await expectCached()

      slow.open()
      await expect(confirming).rejects.toThrow('too long')
      const calls = reader.calls('usage')
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      expect(reader.calls('usage')).toBe(calls + 2)
      expect(await clients[0].pttl(writers)).toBeGreaterThan(90_000)

      await slow.carryOut()
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 0))
      // The renewed mark expires.
      await clients[0].pexpire(writers, 0)
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 0))
      await expectCached()
    },
  )

  it('a later write does not shorten the mark of one that was given up', async () => {
    const { prefix, reader, writer } = processes
    const carryOut = writer.loseResponse('confirm', 'late')
    await writer.store.reserve(file('a'))
    await expect(writer.store.confirm({ ...at('a'), scope, size: 1 })).rejects.toThrow('lost')
    await writer.store.reserve(file('b'))
    expect(await clients[0].pttl(`{${prefix}}:writers:${scope}`)).toBeGreaterThan(90_000)
    const calls = reader.calls('usage')
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
    expect(reader.calls('usage')).toBe(calls + 2)
    await carryOut()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 1))
  })

  it('a lost response invalidates only the scope that the call names', async () => {
    const { reader, writer } = processes
    await expectCached('bystander')
    writer.loseResponse('confirm', 'done')
    await writer.store.reserve(file('a'))
    await expect(writer.store.confirm({ ...at('a'), scope, size: 1 })).rejects.toThrow('lost')
    const calls = reader.calls('usage')
    await reader.store.getScopeUsage('bystander')
    expect(reader.calls('usage')).toBe(calls)
  })

  it.each<
    [method: keyof StoreDriver, call: (store: StorageObjectStore) => Promise<unknown>, after: ScopeUsage]
  >([
    ['confirm', (store) => store.confirm({ ...at('a'), size: 1 }), usage(1, 0)],
    ['release', (store) => store.release(at('a')), usage(0, 0)],
    ['remove', (store) => store.remove(at('a')), usage(0, 0)],
    ['purgeExpired', (store) => store.purgeExpired(), usage(0, 0)],
  ])(
    'readers see a %s without a scope once the database has it, and after a lost response',
    async (method, call, expected) => {
      for (const incident of ['none', 'held', 'lost'] as const) {
        processes = twoProcesses(clients, now)
        const { reader, writer } = processes
        await writer.store.reserve(file('a'))
        time += 3_600_000
        await expectCached()
        await expectCached('bystander')
        if (incident === 'none') {
          await call(writer.store)
        } else if (incident === 'held') {
          const held = writer.holdAfter(method)
          const writing = call(writer.store)
          await held.reached
          expect(await reader.store.getScopeUsage(scope)).toEqual(expected)
          held.open()
          await writing
          // Other scopes stay cached.
          const calls = reader.calls('usage')
          await reader.store.getScopeUsage('bystander')
          expect(reader.calls('usage')).toBe(calls)
        } else {
          writer.loseResponse(method, 'done')
          await expect(call(writer.store)).rejects.toThrow('lost')
        }
        expect(await reader.store.getScopeUsage(scope)).toEqual(expected)
      }
    },
  )

  it.each(['none', 'held', 'lost'] as const)(
    'readers see the end of temporary objects of any scope (incident: %s)',
    async (incident) => {
      const { reader, writer } = processes
      const owners = [scope, 'another owner']
      for (const owner of owners) {
        for (const key of ['ended', 'kept']) {
          const { id } = await writer.store.reserve({
            ...file(`${owner} ${key}`, owner),
            temporarySeconds: 60,
          })
          await writer.store.confirm({ ...at(`${owner} ${key}`), id, size: 1 })
        }
      }
      time += 3_600_000
      const objects = await writer.store.listTemporary()
      const keep = objects.filter(({ key }) => key.endsWith('kept')).map(({ id }) => id)
      const end = () => writer.store.endTemporary({ objects, keep })
      for (const owner of [...owners, 'bystander']) await expectCached(owner)
      if (incident === 'none') {
        expect(await end()).toMatchObject({ removed: { length: 2 }, kept: 2 })
      } else if (incident === 'held') {
        const held = writer.holdAfter('endTemporary')
        const ending = end()
        await held.reached
        for (const owner of owners) expect(await reader.store.getScopeUsage(owner)).toEqual(usage(1, 0))
        held.open()
        await ending
        const calls = reader.calls('usage')
        await reader.store.getScopeUsage('bystander')
        expect(reader.calls('usage')).toBe(calls)
      } else {
        writer.loseResponse('endTemporary', 'done')
        await expect(end()).rejects.toThrow('lost')
      }
      for (const owner of owners) expect(await reader.store.getScopeUsage(owner)).toEqual(usage(1, 0))
    },
  )

  it.each([undefined, scope])(
    'readers see what an uncertain part of a purge does, at once or late (scope: %s)',
    async (purged) => {
      const { reader, writer, writeWithoutCache } = processes
      await expectCached()
      await writeWithoutCache(scope)
      writer.fakeNext('purgeExpired', { rows: [], scopes: [], isUncertain: true })
      await writer.store.purgeExpired({ scope: purged })
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      await writeWithoutCache(scope)
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 2))
    },
  )

  it('a refused write leaves no mark', async () => {
    const { writer } = processes
    await expect(writer.store.confirm({ ...at('none'), scope, size: 1 })).rejects.toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
    const refused = writer.store.reserve({ ...file('a'), quota: { maxFiles: 0 } })
    await expect(refused).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await expectCached()
  })

  it('a write that changes no usage does not invalidate it', async () => {
    const { reader, writer } = processes
    const { id } = await writer.store.reserve(file('a'))
    const temporary = await writer.store.reserve({ ...file('b'), temporarySeconds: 60 })
    await writer.store.confirm({ ...at('b'), id: temporary.id, size: 1 })
    await expectCached()
    const calls = reader.calls('usage')
    await writer.store.keep({ scope, objects: [{ id: temporary.id }] })
    await writer.store.setUploadId({ ...at('a'), id, uploadId: 'upload' })
    await writer.store.purgeDeleted({ before: now() })
    await writer.store.forgetLeftover({ attemptId: id })
    await writer.store.update({ ...at('a'), filename: 'a.png' })
    await writer.store.claimEvents()
    await writer.store.checkUsage()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(1, 1))
    expect(reader.calls('usage')).toBe(calls)
  })

  it.each([undefined, scope])('readers see a repair (scope: %s)', async (repaired) => {
    const { reader, writer, writeWithoutCache } = processes
    await expectCached()
    await writeWithoutCache(scope)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    // An earlier try has repaired it, and its response was lost.
    writer.fakeNext('repairUsage', [])
    await writer.store.repairUsage(repaired)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('a write that touched too many scopes invalidates all usages', async () => {
    const { reader, writer, writeWithoutCache } = processes
    await expectCached()
    await writeWithoutCache(scope)
    const others = Array.from({ length: 1001 }, (_, i) => `scope ${i}`)
    writer.fakeNext('purgeExpired', { rows: [], scopes: others })
    await writer.store.purgeExpired()
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('Redis may lose its data during a write', async () => {
    const { prefix, reader, writer } = processes
    const write = writer.holdBefore('reserve')
    const reserving = writer.store.reserve(file('a'))
    await write.reached
    await clients[0].del(...(await keysOf(prefix)))
    await expectCached()
    write.open()
    await reserving
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('text that the cache did not write is ignored', async () => {
    const { prefix, reader, writeWithoutCache } = processes
    await expectCached()
    await writeWithoutCache(scope)
    const key = `{${prefix}}:usage:${scope}`
    const [epoch] = (await clients[0].get(key))!.split(' ')
    for (const text of ['0 0 0', '0 0 0 0 0', '-1 0 0 0', '9007199254740993 0 0 0', 'null']) {
      await clients[0].set(key, `${epoch} V ${text}`)
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    }
    await clients[0].set(key, 'anything else')
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('a write without the cache is seen after the lifetime, which starts before the database is read', async () => {
    const { prefix, reader, writeWithoutCache } = processes
    const key = `{${prefix}}:usage:${scope}`
    const held = reader.holdBefore('usage')
    const reading = reader.store.getScopeUsage(scope)
    await held.reached
    expect(await clients[0].pttl(key)).toBeGreaterThan(0)
    await clients[0].pexpire(key, 20_000)
    held.open()
    await reading
    await expectCached()
    expect(await clients[0].pttl(key)).toBeLessThanOrEqual(20_000)

    await writeWithoutCache(scope)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    await clients[0].pexpire(key, 0)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('a write without the cache is seen once repairUsage has looked at its scope', async () => {
    const { reader, writer, writeWithoutCache } = processes
    await expectCached()
    await writeWithoutCache(scope)
    expect(await writer.store.repairUsage(scope)).toEqual([])
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  async function keysOf(prefix: string): Promise<string[]> {
    const keys = await clients[0].keys('*')
    return keys.filter((key) => key.startsWith(`{${prefix}}`))
  }
})
