import { afterAll, afterEach, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import type { RedisClient } from '@svc/db/redis'
import { tcpRelay } from '../drivers/tcp-relay.js'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { longTimeoutCache } from './long-timeout-cache.js'
import { clientOf, describePrivateRedis, freshPrefix } from './redis-servers.js'
import { wrapRedis } from './shared-store.js'
import { inAnHour, usage } from './two-processes.js'

const scope = 'scope'

describePrivateRedis('the cache bypasses a Redis', (program) => {
  let servers: PrivateRedis[]
  let [one, other]: ReturnType<typeof clientOf>[] = []
  let database: StorageObjectStore
  let prefix: string
  let files = 0
  beforeAll(async () => {
    const settings = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1']
    servers = await Promise.all([startRedis(program, settings), startRedis(program, settings)])
    ;[one, other] = servers.map(({ url }) => clientOf(url))
  })
  afterAll(async () => {
    one!.disconnect()
    other!.disconnect()
    await Promise.all(servers.map((server) => server.stop()))
  })
  beforeEach(() => {
    database = memoryAdapter()
    prefix = freshPrefix()
  })
  afterEach(async () => {
    await one!.config('SET', 'min-replicas-to-write', '0')
    await one!.replicaof('NO', 'ONE')
    await other!.replicaof('NO', 'ONE')
  })

  function processAt(redis: RedisClient) {
    const process = { hits: 0, commands: 0, errors: [] as string[] }
    const watched = wrapRedis(redis, async (_method, call) => {
      process.commands++
      const result = await call()
      if (Array.isArray(result) && result[0] === 'value') process.hits++
      return result
    })
    const onError = (error: unknown) => void process.errors.push(String((error as Error).cause))
    return Object.assign(process, { store: longTimeoutCache(database, watched, { prefix, onError }) })
  }

  const reserve = (store: StorageObjectStore) =>
    store.reserve({
      ...{ scope, bucket: 'bucket', key: `key ${files++}`, declaredSize: 1 },
      expiresAt: inAnHour(() => new Date()),
    })

  async function untilUsed(process: ReturnType<typeof processAt>): Promise<void> {
    const { hits } = process
    await expect
      .poll(async () => {
        await process.store.getScopeUsage(scope)
        return process.hits
      })
      .toBeGreaterThan(hits)
  }

  /** Makes the second server a replica of the first, and waits until it has caught up. */
  async function replicate(): Promise<void> {
    await other!.replicaof('127.0.0.1', new URL(servers[0]!.url).port)
    await expect.poll(() => other!.info('replication')).toContain('master_link_status:up')
  }

  it('that is a replica, because it may lag behind', async () => {
    const writer = processAt(one!)
    await untilUsed(writer)
    await replicate()
    const reader = processAt(other!)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    // Stops the replication.
    await other!.replicaof('127.0.0.1', '1')
    await reserve(writer.store)

    for (let read = 0; read < 20; read++) {
      expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    }

    expect(reader.errors).toEqual([expect.stringContaining('READONLY')])
    // The refused command and the probe, each sent twice because this Redis doesn't know the script.
    expect(reader.commands).toBe(4)
    expect(reader.hits).toBe(0)
  })

  it('that refuses writes for lack of replicas, because it refuses invalidations too', async () => {
    const [writer, reader] = [processAt(one!), processAt(one!)]
    await untilUsed(reader)
    await one!.config('SET', 'min-replicas-to-write', '1')
    await reserve(writer.store)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(reader.errors).toEqual([expect.stringContaining('NOREPLICAS')])
    await one!.config('SET', 'min-replicas-to-write', '0')
    await untilUsed(reader)
    expect(await reader.store.getScopeUsage(scope)).toEqual(usage(0, 1))
  })

  it('that has become a replica in a failover', async () => {
    await replicate()
    const [late, early] = [processAt(one!), processAt(other!)]
    await untilUsed(late)
    await one!.call('FAILOVER')
    await expect.poll(() => other!.info('replication')).toContain('role:master')
    await untilUsed(early)
    expect(await late.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    await reserve(early.store)
    expect(await late.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    await reserve(late.store)
    expect(await late.store.getScopeUsage(scope)).toEqual(usage(0, 2))
    expect(late.errors).toEqual([expect.stringContaining('READONLY')])
  })

  // A client of an address stays connected to the server that it has reached, whatever the address leads to later.
  it.each([
    ['follows its address with reconnectOnError', true],
    ['stays on the replica without reconnectOnError, and other processes miss its writes', false],
  ])('that has become a replica in a failover, and %s', async (_what, follows) => {
    const [from, to] = servers.map(({ url }) => new URL(url))
    let target = from!
    const address = await tcpRelay(
      () => target,
      ({ client, server }) => client.pipe(server).pipe(client),
    )
    const client = clientOf(`redis://127.0.0.1:${address.port}`, {
      ...(follows && { reconnectOnError: ({ message }) => message.includes('READONLY') }),
    })
    onTestFinished(async () => {
      client.disconnect()
      await address.close()
    })
    await replicate()
    const [moved, early] = [processAt(client), processAt(other!)]
    await untilUsed(moved)
    await one!.call('FAILOVER')
    await expect.poll(() => other!.info('replication')).toContain('role:master')
    target = to!
    await untilUsed(early)

    await reserve(moved.store)
    expect(await moved.store.getScopeUsage(scope)).toEqual(usage(0, 1))
    expect(moved.errors).toEqual([expect.stringContaining('READONLY')])
    if (follows) {
      await expect.poll(() => early.store.getScopeUsage(scope)).toEqual(usage(0, 1))
      await untilUsed(moved)
    } else {
      expect(await early.store.getScopeUsage(scope)).toEqual(usage(0, 0))
    }
  })
})
