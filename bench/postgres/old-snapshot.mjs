// Compares calls beside a snapshot that was opened before 100,000 uploads with the same calls without one, with autovacuum off.
// --rows=N: number of uploads. --check: exit with 1 if a bar is missed.
import { cpus } from 'node:os'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { openReport } from '../report.mjs'
import { callsBeside } from '../servers/calls-beside.mjs'
import { compareCosts } from '../servers/compare-costs.mjs'
import { readOptions, withSeparators } from '../servers/options.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'
import { createUsedStore } from './used-store.mjs'
import { measureServerCosts } from './server-costs.mjs'

const { check, rows } = readOptions({ rows: 100_000, leastRows: 10_000 })
const ROUNDS = 21
const PER_ROUND = 3
const BAR = { most: 3 }

const cluster = await startCluster()
const pools = []
async function poolOf(database) {
  const pool = new pg.Pool({ ...cluster.connection, database, max: 1, idleTimeoutMillis: 0 })
  pool.on('error', () => {})
  pools.push(pool)
  return pool
}

const admin = await poolOf('postgres')
const { server_version: version } = (await admin.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP;
Node ${process.versions.node}, ${cpus().length} CPUs. ${withSeparators(rows)} uploads, each with an event that was delivered, as many deleted objects whose
history was purged, and as many leftovers that were forgotten, with autovacuum off. A snapshot keeps the dead rows only in its own
database. Times are medians of ${ROUNDS} alternating rounds of ${PER_ROUND} calls, in microseconds per call. Ratios are medians of the
rounds' ratios.
`)

/** Loads a database, beside a snapshot if it `isHeld`. */
async function loadDatabase(name, isHeld) {
  await admin.query(`CREATE DATABASE ${name}`)
  const pool = await poolOf(name)
  const store = postgresAdapter(pool, { events: true })
  await store.migrate()
  if (isHeld) {
    const holder = await (await poolOf(name)).connect()
    holder.on('error', () => {})
    await holder.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await holder.query('SELECT count(*) FROM svc_db.objects')
  }
  await createUsedStore(pool, store, rows)
  // Later lists of events start after what had been recorded a minute before.
  await store.listEvents()
  return { store, costs: await measureServerCosts(pool) }
}

const free = await loadDatabase('free', false)
const held = await loadDatabase('held', true)
await new Promise((resolve) => setTimeout(resolve, 60_000))
const report = openReport('postgres, beside an old snapshot')
const calls = callsBeside()
const results = []
for (const { name, call, bar = BAR } of calls) {
  const repeat = async ({ store, costs }) =>
    costs.measure(async () => {
      for (let made = 0; made < PER_ROUND; made++) await call(store)
    })
  results.push(
    ...(await compareCosts({
      base: () => repeat(free),
      subject: () => repeat(held),
      bars: { [held.costs.hasProcessorTime ? 'processor' : 'waiting']: bar },
      names: { waiting: name, processor: name },
      perRound: PER_ROUND,
      rounds: ROUNDS,
    })),
  )
}
report.add(
  `After ${withSeparators(rows)} uploads, ${held.costs.hasProcessorTime ? 'processor time of the server' : 'time of the caller'}`,
  ['no snapshot', 'snapshot'],
  results,
)

report.close({ check, isCorrect: true })
process.exit()
