// What the usage cache saves and costs: ratios beside the same store without it, on each adapter.
import { cpus } from 'node:os'
import { Redis } from 'ioredis'
import { memoryAdapter } from '@svc/db/memory'
import { redisUsageCache } from '@svc/db/redis'
import { importSource } from '../own-source.mjs'
import { openReport } from '../report.mjs'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { startDelayProxy } from '../servers/delay-proxy.mjs'
import { startMongoBase } from './mongo-base.mjs'
import { startPostgresBase } from './postgres-base.mjs'

const { redisProgram, startRedis } = await importSource('test/servers/redis.ts')

/** Milliseconds to a database in another zone, and back. */
const DELAY = 2.5
const ROUNDS = 101
let uploads = 0

const program = redisProgram()
if (program === null) throw new Error('There is no redis-server.')
const server = await startRedis(program)
const redis = new Redis(server.url)
console.log(`Redis ${/redis_version:(\S+)/.exec(await redis.info('server'))[1]} by TCP on this machine; Node ${process.versions.node}, ${cpus().length} CPUs.

Method: as bench/postgres/run.mjs. One caller; the store without the cache on the left, with it on the right. The ratio
is how many times as long the right side takes: below 1 the cache saves time. A hit is a usage that Redis has, a miss one
that it lacks: of a scope that is asked for once.
`)

const away = (target) => startDelayProxy(target, DELAY)
/** The adapters, each started as `{ name, store, stop }`, one at a time. A further one is a line here. */
const bases = [
  async () => ({ name: 'memoryAdapter', store: memoryAdapter(), stop: async () => {} }),
  () => startPostgresBase('postgresAdapter'),
  () => startPostgresBase(`postgresAdapter ${DELAY} ms away`, away),
  () => startMongoBase('mongoAdapter'),
  () => startMongoBase(`mongoAdapter ${DELAY} ms away`, away),
]
const report = openReport('redis')
for (const [index, start] of bases.entries()) {
  const base = await start()
  if (base === null) continue
  report.add(base.name, ['without', 'cached'], await compareCache(base.store, `bench ${index}`))
  await base.stop()
}
redis.disconnect()
await server.stop()
// There are no bars: what the cache saves depends on how far away the database is.
report.close({ check: false, isRight: true })

async function compareCache(store, prefix) {
  const cached = redisUsageCache(store, redis, { prefix, ttlSeconds: 3600 })
  const scope = 'user:bench'
  await upload(store, scope)()
  let reads = 0
  return [
    await compareWaiting({
      name: 'getScopeUsage, hit',
      base: () => store.getScopeUsage(scope),
      subject: () => cached.getScopeUsage(scope),
      bar: {},
      rounds: ROUNDS,
    }),
    await compareWaiting({
      name: 'getScopeUsage, miss',
      base: () => store.getScopeUsage(`user:${reads++}`),
      subject: () => cached.getScopeUsage(`user:${reads++}`),
      bar: {},
      rounds: ROUNDS,
    }),
    await compareWaiting({
      name: 'reserve + confirm',
      base: upload(store, scope),
      subject: upload(cached, scope),
      bar: {},
      rounds: ROUNDS,
    }),
  ]
}

function upload(store, scope) {
  return async () => {
    const reference = { bucket: 'bench', key: `upload ${uploads++}` }
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { id } = await store.reserve({ scope, ...reference, declaredSize: 1, expiresAt })
    await store.confirm({ ...reference, scope, id, size: 1 })
  }
}
