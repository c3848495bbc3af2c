import type { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { clientOf, describeRedis } from './redis-servers.js'
import { inAnHour, loadScripts, twoProcesses, usage, type TwoProcesses } from './two-processes.js'

const at = (key: string) => ({ bucket: 'bucket', key })
const OBJECT = { ...at('a'), storageKey: 'stored', size: 1, createdAt: new Date(Date.UTC(2025, 0, 1)) }
const TRANSFER = { ...at('a'), from: 'old', to: 'new' }

describeRedis('a write that changes the usage of two scopes leaves no stale usage:', (url) => {
  const clients: [Redis, Redis] = [clientOf(url), clientOf(url)]
  afterAll(() => clients.forEach((client) => client.disconnect()))

  let time = Date.UTC(2026, 0, 1)
  const now = () => new Date(time)
  let processes: TwoProcesses
  beforeAll(() => loadScripts(clients, now))
  beforeEach(() => {
    processes = twoProcesses(clients, now)
  })

  const readUsages = async (...scopes: string[]) =>
    Promise.all(scopes.map((scope) => processes.reader.store.getScopeUsage(scope)))

  /** Lets the reader cache the usages, and expects that they then come from Redis. */
  async function expectCached(...scopes: string[]): Promise<void> {
    await readUsages(...scopes)
    const calls = processes.reader.calls('usage')
    await readUsages(...scopes)
    expect(processes.reader.calls('usage')).toBe(calls)
  }

  it('readers of both scopes see a transfer that the database has, even before it is acknowledged', async () => {
    const { reader, writer } = processes
    await writer.store.adopt({ ...OBJECT, scope: 'old' })
    await expectCached('old', 'new', 'bystander')
    const held = writer.holdAfter('transfer')
    const transferring = writer.store.transfer(TRANSFER)
    await held.reached
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), usage(1, 0)])
    held.open()
    await transferring
    const calls = reader.calls('usage')
    await readUsages('bystander')
    expect(reader.calls('usage')).toBe(calls)
    await expectCached('old', 'new')
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), usage(1, 0)])
  })

  it('a process that dies during a transfer leaves no stale usage of either scope', async () => {
    const { prefix, writer } = processes
    await writer.store.adopt({ ...OBJECT, scope: 'old' })
    await expectCached('old', 'new')
    const death = writer.giveUp('transfer')
    void writer.store.transfer(TRANSFER)
    await death.reached
    // Not cached, because the database may carry the transfer out at any time.
    expect(await readUsages('old', 'new')).toEqual([usage(1, 0), usage(0, 0)])
    await death.carryOut()
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), usage(1, 0)])
    // Its marks expire.
    for (const scope of ['old', 'new']) {
      expect(await clients[0].pexpire(`{${prefix}}:writers:${scope}`, 0)).toBe(1)
    }
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), usage(1, 0)])
  })

  it('readers of both scopes see a transfer whose response was lost, once it takes effect', async () => {
    const { prefix, reader, writer } = processes
    await writer.store.adopt({ ...OBJECT, scope: 'old' })
    await expectCached('old', 'new', 'bystander')
    const carryOut = writer.loseResponse('transfer', 'late')
    await expect(writer.store.transfer(TRANSFER)).rejects.toThrow('lost')
    for (const scope of ['old', 'new']) {
      expect(await clients[0].pttl(`{${prefix}}:writers:${scope}`)).toBeGreaterThan(90_000)
    }
    expect(await readUsages('old', 'new')).toEqual([usage(1, 0), usage(0, 0)])
    await carryOut()
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), usage(1, 0)])
    const calls = reader.calls('usage')
    await readUsages('bystander')
    expect(reader.calls('usage')).toBe(calls)
  })

  it('a repeat of a transfer whose response was lost invalidates both scopes', async () => {
    const { database, writer } = processes
    await database.adopt({ ...OBJECT, scope: 'old' })
    await expectCached('old', 'new')
    await database.transfer(TRANSFER)
    expect(await writer.store.transfer(TRANSFER)).toMatchObject({ scope: 'new' })
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), usage(1, 0)])
  })

  it('a transfer that is refused, or to the same scope, leaves no mark', async () => {
    const { writer } = processes
    await writer.store.adopt({ ...OBJECT, scope: 'old' })
    const refused = writer.store.transfer({ ...TRANSFER, quota: { maxFiles: 0 } })
    await expect(refused).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await writer.store.transfer({ ...TRANSFER, to: 'old' })
    expect(await writer.store.transfer({ ...TRANSFER, from: 'unknown' })).toBeNull()
    await expectCached('old', 'new', 'unknown')
  })

  const takeOvers = {
    adopt: [() => processes.writer.store.adopt({ ...OBJECT, scope: 'new' }), usage(1, 0)],
    reserve: [
      () =>
        processes.writer.store.reserve({
          ...{ ...at('a'), scope: 'new', declaredSize: 1, expiresAt: inAnHour(now) },
        }),
      usage(0, 1),
    ],
  } as const
  it.each(
    (['adopt', 'reserve'] as const).flatMap((method) => [
      { method, response: 'acknowledged' },
      { method, response: 'lost' },
    ]),
  )('readers of both scopes see $method replace an expired reservation ($response)', async (take) => {
    const { writer } = processes
    const [call, after] = takeOvers[take.method]
    await writer.store.reserve({ ...at('a'), scope: 'old', declaredSize: 1, expiresAt: inAnHour(now) })
    time += 3_600_000
    await expectCached('old', 'new')
    if (take.response === 'lost') writer.loseResponse(take.method, 'done')
    const taken = call()
    if (take.response === 'lost') await expect(taken).rejects.toThrow('lost')
    else await taken
    expect(await readUsages('old', 'new')).toEqual([usage(0, 0), after])
  })

  it('an adopt of known bytes invalidates the scope of their object', async () => {
    const { database, writer } = processes
    await expectCached('new')
    await database.adopt({ ...OBJECT, scope: 'new' })
    expect(await writer.store.adopt({ ...OBJECT, key: 'b', scope: 'old' })).toMatchObject({ known: true })
    expect(await readUsages('new')).toEqual([usage(1, 0)])
  })
})
