import { readFileSync } from 'node:fs'
import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import type { RedisClient } from '@svc/db/redis'
import { partsOf } from '../../../src/core/store/store-parts.js'
import { freePort } from '../../servers/private-server.js'
import { until } from '../../until.js'
import { startRedis, type PrivateRedis } from '../../servers/redis.js'
import { eventCalls } from '../postgres/event-calls.js'
import { everyCall } from '../postgres/every-call.js'
import { longTimeoutCache } from './long-timeout-cache.js'
import { clientOf, describePrivateRedis, freshPrefix } from './redis-servers.js'
import { inAnHour, usage } from './two-processes.js'

/** Commands per call, without a cache hit. Calls that are missing here send none. */
const COMMANDS: Readonly<Record<string, number>> = {
  reserve: 2,
  confirm: 2,
  release: 2,
  remove: 2,
  transfer: 2,
  adopt: 2,
  purgeExpired: 2,
  reject: 2,
  endTemporary: 2,
  repairUsage: 2,
  getScopeUsage: 2,
}

const document = readFileSync(new URL('../../../docs/redis.md', import.meta.url), 'utf8')
const documented = /`(\+eval [^`]+)`/.exec(document)![1]!.split(/\s+/)
/** Commands that a loaded script doesn't need: `EVAL` only loads it, and the others are sent by ioredis. */
const OPTIONAL: readonly string[] = ['+eval', '+info', '+client']

describePrivateRedis('the cache sends to Redis', (program) => {
  let server: PrivateRedis
  let client: ReturnType<typeof clientOf>
  /** Commands that the server has received. */
  const seen: string[] = []
  let monitor: ReturnType<typeof clientOf>
  beforeAll(async () => {
    server = await startRedis(program)
    client = clientOf(server.url)
    monitor = await client.monitor()
    monitor.on('monitor', (_time: string, [command = '']: string[], source: string) => {
      if (source !== 'lua') seen.push(command.toLowerCase())
    })
  })
  afterAll(async () => {
    monitor.disconnect()
    client.disconnect()
    await server.stop()
  })

  const cached = (store: StorageObjectStore) =>
    longTimeoutCache(store, client, {
      prefix: freshPrefix(),
      onError: (error) => {
        throw error
      },
    })

  /** Returns the commands since the last call. */
  async function commands(): Promise<string[]> {
    await client.echo('end')
    await until(() => seen.includes('echo'))
    return seen.splice(0).filter((command) => command !== 'echo')
  }

  const now = () => new Date()
  let store: StorageObjectStore
  beforeAll(async () => {
    store = cached(memoryAdapter({ now }))
    await store.getScopeUsage('another')
    await store.remove({ bucket: 'another', key: 'another', scope: 'another' })
    // No call waits for the script that stores a usage, so this waits until Redis has loaded all four.
    await until(() => seen.filter((command) => command === 'eval').length === 4)
  })
  for (const { name, prepare, call } of [...everyCall('scope', now), ...eventCalls('scope', now)]) {
    const [method = ''] = name.split(/[ ,]/)
    const expected = COMMANDS[method] ?? 0
    it(`${expected} commands for ${name}`, async () => {
      await prepare?.(store)
      await commands()
      await call(store)
      expect(await commands()).toEqual(Array.from({ length: expected }, () => 'evalsha'))
    })
  }

  it('0 commands for reads that only other tests make', async () => {
    await commands()
    await store.countEvents()
    await partsOf(store)!.driver.recordsEvents()
    expect(await commands()).toEqual([])
  })

  it('1 command for a cached usage, 2 for a missing one, 2 more if Redis does not know the scripts', async () => {
    await client.script('FLUSH')
    const store = cached(memoryAdapter())
    await commands()
    await store.getScopeUsage('scope')
    await client.ping()
    expect((await commands()).filter((command) => command.startsWith('eval')).sort()).toEqual([
      ...['eval', 'eval', 'evalsha', 'evalsha'],
    ])
    await store.getScopeUsage('other')
    expect(await commands()).toEqual(['evalsha', 'evalsha'])
    await store.getScopeUsage('other')
    expect(await commands()).toEqual(['evalsha'])
  })

  describe('commands that work', () => {
    async function works(redis: RedisClient): Promise<void> {
      const errors: unknown[] = []
      const options = { prefix: freshPrefix(), onError: (error: unknown) => errors.push(error) }
      const database = memoryAdapter()
      const store = longTimeoutCache(database, redis, options)
      const scopes = ['a', '{b}', '}{', ' ', '\u{1F600}'.repeat(255), 'c\r\n*1\r\n']
      const expiresAt = inAnHour(now)
      for (const scope of scopes) {
        await store.getScopeUsage(scope)
        await store.reserve({ scope, bucket: 'bucket', key: scope, declaredSize: 1, expiresAt })
        expect(await store.getScopeUsage(scope)).toEqual(usage(0, 1))
        await database.release({ bucket: 'bucket', key: scope })
        // Still cached: the release did not use the cache.
        expect(await store.getScopeUsage(scope)).toEqual(usage(0, 1))
      }
      const adopted = {
        bucket: 'bucket',
        key: 'adopted',
        storageKey: 'stored',
        size: 1,
        createdAt: new Date(),
      }
      await store.adopt({ ...adopted, scope: 'old' })
      await store.transfer({ bucket: 'bucket', key: 'adopted', from: 'old', to: '{new}' })
      await store.repairUsage()
      await store.confirm({ bucket: 'bucket', key: 'nothing', size: 1 }).catch(() => {})
      expect(errors).toEqual([])
    }

    it('with a key prefix of the client', async () => {
      const prefixed = clientOf(server.url, { keyPrefix: 'app:' })
      onTestFinished(() => prefixed.disconnect())
      await works(prefixed)
      expect((await client.keys('app:{test*')).length).toBeGreaterThan(5)
    })

    it('with the permissions that the docs list', async () => {
      await works(await clientWith(['~{test*', ...documented]))
    })

    it('in a cluster', async () => {
      const node = await startRedis(program, [
        '--cluster-enabled',
        'yes',
        '--cluster-announce-ip',
        '127.0.0.1',
        // By default 10,000 above the other port, where outgoing connections may have it.
        '--cluster-port',
        String(await freePort()),
      ])
      const admin = clientOf(node.url)
      await admin.cluster('ADDSLOTSRANGE', 0, 16383)
      await expect.poll(() => admin.cluster('INFO')).toContain('cluster_state:ok')
      const { hostname, port } = new URL(node.url)
      const cluster = new Cluster([{ host: hostname, port: Number(port) }])
      try {
        await works(cluster)
      } finally {
        cluster.disconnect()
        admin.disconnect()
        await node.stop()
      }
    })
  })

  async function clientWith(rights: readonly string[]) {
    await client.call('ACL', 'SETUSER', 'app', 'reset', 'on', '>secret', ...rights)
    const url = new URL(server.url)
    url.username = 'app'
    url.password = 'secret'
    const app = clientOf(url.href)
    onTestFinished(() => app.disconnect())
    return app
  }

  const lacking = documented
    .filter((right) => !OPTIONAL.includes(right))
    .map((right) => ({
      missing: right,
      rights: ['~{test*', ...documented.filter((other) => other !== right)],
    }))
  it.each([{ missing: 'access to the keys', rights: documented }, ...lacking])(
    'nothing that makes a usage stale if a permission is missing, and an error is reported ($missing)',
    async ({ rights }) => {
      const errors: string[] = []
      const store = longTimeoutCache(memoryAdapter(), await clientWith(rights), {
        prefix: freshPrefix(),
        onError: (error) => void errors.push(`${error as Error} ${(error as Error).cause as Error}`),
      })
      for (let round = 1; round <= 3; round++) {
        const written = { scope: 'scope', bucket: 'bucket', key: `key ${round}`, declaredSize: 1 }
        await store.reserve({ ...written, expiresAt: inAnHour(now) })
        for (let read = 0; read < 3; read++) {
          expect(await store.getScopeUsage('scope')).toEqual(usage(0, round))
        }
      }
      expect(errors[0]).toMatch(/NOPERM|user executing the script can't|permission/)
      await store.close()
    },
  )
})
