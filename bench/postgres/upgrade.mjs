// Upgrades a database of release 1.5.5 while its processes write, and prints the longest call of a writer.
// --rows=N: size of the large scope. The release is built from its commit, so this needs a clone with history.
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { importSource } from '../own-source.mjs'
import { readOptions, withSeparators } from '../servers/options.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'
import { loadScopes } from './loaded-scopes.mjs'

const { bundleWorker } = await importSource('test/integration/races/bundled-worker.ts')
const { startProcess } = await importSource('test/integration/upgrade/processes.ts')
const { releasedSource } = await importSource('test/integration/upgrade/released-source.ts')
const { postgresSchema } = await importSource('src/adapters/postgres/index.ts')

const { rows } = readOptions({ rows: 1_040_000, leastRows: 50_000 })
const WRITERS = 2
const CALLERS = 4
/** Milliseconds of writing before and after each upgrade. */
const MARGIN = 3000
const SCOPES = ['ann', 'bob', 'cid', 'dan', 'eve', 'fay']

const cluster = await startCluster()
const { host, port, user } = cluster.connection
const urlOf = (database) => `postgres://${user}@${host}:${port}/${database}`
const entry = fileURLToPath(new URL('../../test/integration/upgrade/process.ts', import.meta.url))
const released = releasedSource()
const [old, recent] = [await released.bundle(entry), await bundleWorker(entry)]
const start = (program, version, database) =>
  startProcess(program.file, version, { kind: 'postgres', url: urlOf(database), schema: 'svc_db' })
const seconds = (milliseconds) => `${(milliseconds / 1000).toFixed(2)} s`
const pause = () => new Promise((resolve) => setTimeout(resolve, MARGIN))

const pool = poolOf('postgres')
const { server_version: version } = (await pool.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP;
Node ${process.versions.node}, ${cpus().length} CPUs. ${WRITERS} processes of 1.5.5 with ${CALLERS} callers each write to ${SCOPES.length} scopes.
`)
const loader = start(old, '1.5.5', 'postgres')
await loader.call('migrate')
await loadScopes(pool, { checkUsage: (scope) => loader.call('checkUsage', scope) }, rows)
const { count } = (await pool.query('SELECT count(*)::int AS count FROM svc_db.objects')).rows[0]
await loader.close()
await pool.end()

await measure('no upgrade', 'idle', async () => pause())
await measure('migrate() of 4 processes at once', 'by_migrate', async (database) => {
  const migrating = Array.from({ length: 4 }, () => start(recent, '2.0', database))
  await Promise.all(migrating.map((process) => process.call('migrate')))
  await Promise.all(migrating.map((process) => process.close()))
})
await measure('postgresSchema() in one transaction', 'by_text', async (database) => {
  const tool = poolOf(database)
  await tool.query(`BEGIN; ${postgresSchema()} COMMIT`)
  await tool.end()
})
await measure('the same, after the statements in its comments', 'by_comments', async (database) => {
  const tool = poolOf(database)
  const text = postgresSchema()
  for (const [, statement] of text.matchAll(/^-- ((?:ALTER TABLE|CREATE INDEX) .*;)$/gm)) {
    await tool.query(statement)
  }
  await tool.query(`BEGIN; ${text} COMMIT`)
  await tool.end()
})

old.remove()
recent.remove()
released.remove()
await cluster.stop()

function poolOf(database) {
  const opened = new pg.Pool({ connectionString: urlOf(database), max: 1 })
  // The server may end a connection while it is being closed.
  opened.on('error', () => {})
  return opened
}

/** Runs an upgrade of a copy of the database under writers, and prints what it took. */
async function measure(name, database, upgrade) {
  const admin = poolOf('template1')
  await admin.query(`CREATE DATABASE ${database} TEMPLATE postgres`)
  await admin.query('CHECKPOINT')
  const writers = Array.from({ length: WRITERS }, () => start(old, '1.5.5', database))
  const loads = writers.map((writer, i) => writer.startLoad(CALLERS, keysOf(i)))
  await pause()
  const begin = performance.now()
  await upgrade(database)
  const duration = performance.now() - begin
  await pause()
  const reports = await Promise.all(loads.map((load) => load.finish()))
  const faults = reports.flatMap((report) => report.faults)
  const differences = await writers[0].call('checkUsage')
  const longest = Math.max(...reports.map(({ longestPause }) => longestPause))
  const calls = reports.reduce((sum, report) => sum + report.calls, 0)
  console.log(
    `${name}, ${withSeparators(count)} rows: ${seconds(duration)}. Longest of ${withSeparators(calls)} calls: ${seconds(longest)}.`,
  )
  if (faults.length > 0 || differences.length > 0) {
    console.error(faults.join('\n'), differences)
    process.exitCode = 1
  }
  await Promise.all(writers.map((writer) => writer.close()))
  await admin.query(`DROP DATABASE ${database}`)
  await admin.end()
}

function keysOf(process) {
  return Array.from({ length: 200 }, (_, i) => ({
    key: `own/${process}/${i}`,
    scope: SCOPES[i % SCOPES.length],
    active: null,
    pending: null,
  }))
}
