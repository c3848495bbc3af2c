// Compares uploads that are checked and accepted with uploads without a check. --check: exit with 1 if a bar is missed.
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { openReport } from '../report.mjs'
import { CHECKED, compareChecked } from '../servers/compare-checked.mjs'
import { METHOD } from '../servers/compare-waiting.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const ROUNDS = 101
const CALLERS = 8

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: CALLERS, idleTimeoutMillis: 0 })
// The server may end a connection while it is being closed.
pool.on('error', () => {})
const { server_version: version } = (await pool.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP;
Node ${process.versions.node}, ${cpus().length} CPUs.

${METHOD}
`)

const report = openReport('postgres, checked uploads')
const stores = []
let isCorrect = true
for (const events of [false, true]) {
  const schema = events ? 'bench_with_events' : 'bench_without_events'
  const store = postgresAdapter(pool, { schema, events })
  await store.migrate()
  stores.push(store)
  const [title, sides] = CHECKED
  const sizes = [1, CALLERS].map((callers) => ({ store, callers }))
  report.add(`${title}, events ${events ? 'on' : 'off'}`, sides, await compareChecked(sizes, ROUNDS))
}
for (const store of stores) if ((await store.checkUsage()).length > 0) isCorrect = false
await pool.end()
await cluster.stop()
report.close({ check: values.check, isCorrect })
