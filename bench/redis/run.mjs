// Measures what the usage cache saves and costs: ratios to the same store without it, for each adapter.
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

/** Round trip in milliseconds to a database in another availability zone. */
const DELAY = 2.5
const ROUNDS = 101
let uploads = 0

const program = redisProgram()
if (program === null) throw new Error('Install redis-server.')
const server = await startRedis(program)
const redis = new Redis(server.url)
console.log(`Redis ${/redis_version:(\S+)/.exec(await redis.info('server'))[1]} over local TCP; Node ${process.versions.node}, ${cpus().length} CPUs.

Method: as in bench/postgres/run.mjs, with one caller. The left side is the store without the cache, the right side with it.
The ratio is the time of the right side divided by that of the left, so the cache saves time below 1. A hit reads usage that
Redis has. A miss reads usage that Redis does not have, of a scope that is read once.
`)

const throughDelay = (target) => startDelayProxy(target, DELAY)
/** The adapters, started one at a time as `{ name, store, stop }`. */
const bases = [
  async () => ({ name: 'memoryAdapter', store: memoryAdapter(), stop: async () => {} }),
  () => startPostgresBase('postgresAdapter'),
  () => startPostgresBase(`postgresAdapter ${DELAY} ms away`, throughDelay),
  () => startMongoBase('mongoAdapter'),
  () => startMongoBase(`mongoAdapter ${DELAY} ms away`, throughDelay),
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
// No bars: the savings depend on the distance to the database.
report.close({ check: false, isCorrect: true })

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
