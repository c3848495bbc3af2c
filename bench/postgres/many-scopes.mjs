// Compares a database of ten million objects in a hundred thousand scopes with one of a tenth of both.
// --rows=N: objects of the large one. --check: exit with 1 if a bar is missed. Ten million need 15 GB of disk, in TMPDIR.
import { cpus } from 'node:os'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { openReport } from '../report.mjs'
import { printSizes } from '../ratio-table.mjs'
import { compareWaiting, METHOD } from '../servers/compare-waiting.mjs'
import { readOptions, withSeparators } from '../servers/options.mjs'
import { bucket } from '../servers/scopes.mjs'
import { reserve, SIZE, upload } from '../servers/store-calls.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'
import { keyOf, loadManyScopes, ROWS_PER_SCOPE, scopeOf } from './loaded-many-scopes.mjs'
import { measureSizes } from './loaded-scopes.mjs'
import { comparePartitions } from './partitions.mjs'

const { check, rows } = readOptions({ rows: 10_000_000, leastRows: 100_000 })
const ROUNDS = 301
const ROUNDS_OF_MANY = 81
const MOST = 1.1
const SCHEMAS = { few: 'bench_few_scopes', many: 'bench_many_scopes' }

const cluster = await startCluster()
const poolOf = (max) => {
  const pool = new pg.Pool({ ...cluster.connection, max, idleTimeoutMillis: 0 })
  pool.on('error', () => {})
  return pool
}
const single = poolOf(1)
const { server_version: version } = (await single.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP;
Node ${process.versions.node}, ${cpus().length} CPUs.

${METHOD} Each call takes another scope at random, of ${ROWS_PER_SCOPE} objects.
`)

const report = openReport('postgres, many scopes')
const sizes = { few: rows / 10, many: rows }
for (const side of ['few', 'many']) {
  await postgresAdapter(single, { schema: SCHEMAS[side] }).migrate()
  const start = performance.now()
  await loadManyScopes(single, SCHEMAS[side], sizes[side])
  printSizes((performance.now() - start) / 1000, await measureSizes(single, SCHEMAS[side]))
}

const eight = poolOf(8)
const many = poolOf(32)
const sides = Object.values(sizes).map((size) => `${withSeparators(size)} rows`)
report.add('The same call', sides, [
  await compare('getScopeUsage', (store, scope) => store.getScopeUsage(scope)),
  await compare('listByScope, a page of 50', (store, scope) => store.listByScope({ scope, limit: 50 })),
  await compare('the same page, bare SQL', (_store, scope, _number, schema) =>
    single.query({
      name: `bench_page_${schema}`,
      text: `SELECT * FROM ${schema}.objects WHERE scope = $1 AND status = 'active' ORDER BY id DESC LIMIT 51`,
      values: [scope],
    }),
  ),
  await compare('find', (store, scope, number) => store.find({ bucket, key: keyOf(number) })),
  await compare('the same row, bare SQL', (_store, _scope, number, schema) =>
    single.query({
      name: `bench_find_${schema}`,
      text: `SELECT * FROM ${schema}.objects WHERE bucket = $1 AND key = $2 AND status <> 'deleted'`,
      values: [bucket, keyOf(number)],
    }),
  ),
  await compare('listScopes, a page of 100', (store, scope) =>
    store.listScopes({ limit: 100, after: scope }),
  ),
  await compare('listScopes with a prefix', (store, scope) =>
    store.listScopes({ limit: 100, prefix: scope }),
  ),
  await compare('listExpired', (store) => store.listExpired()),
  await compare('refused reserve', async (store, scope) => {
    const error = await reserve(store, scope, { maxBytes: SIZE }).catch((reason) => reason)
    if (error.code !== 'QUOTA_EXCEEDED') throw error
  }),
  await compare('reserve + confirm, 1 connection', upload),
  await compare('reserve + confirm, 8 connections', upload, { pool: eight, callers: 8 }),
  await compare('reserve + confirm, 32 connections', upload, { pool: many, callers: 32 }),
])
report.add(
  'Hash partitions, 16 of the table with a tenth of the rows',
  ['one table', 'partitions'],
  await comparePartitions(single, SCHEMAS.few, sizes.few),
)
for (const pool of [single, eight, many]) await pool.end()
await cluster.stop()
report.close({ check, isCorrect: true })

function compare(name, call, { pool = single, callers = 1 } = {}) {
  const side = (which) => {
    const store = postgresAdapter(pool, { schema: SCHEMAS[which] })
    return () => {
      const number = Math.floor(Math.random() * sizes[which])
      return call(store, scopeOf(number, sizes[which]), number, SCHEMAS[which])
    }
  }
  return compareWaiting({
    ...{ name, base: side('few'), subject: side('many'), bar: { most: MOST } },
    ...{ callers, rounds: callers === 1 ? ROUNDS : ROUNDS_OF_MANY },
  })
}
