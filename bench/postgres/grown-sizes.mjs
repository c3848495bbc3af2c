// Measures the size of the tables after uploads, with few and many scopes, and without vacuums.
// --rows=N: number of uploads of each.
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { printSizes } from '../ratio-table.mjs'
import { readOptions, withSeparators } from '../servers/options.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve, SIZE } from '../servers/store-calls.mjs'
import { startCluster } from './cluster.mjs'
import { measureSizes } from './loaded-scopes.mjs'

const { rows } = readOptions({ rows: 120_000, leastRows: 20_000 })
const CALLERS = 32
const FIRST_VACUUM = 10_000
/** The share of new dead rows at which autovacuum starts, as `migrate()` sets it. */
const SHARE = 0.05
const LONGEST_UPLOAD_MS = 20

const runs = [
  { schema: 'bench_few_scopes', scopes: 1000, vacuums: true },
  { schema: 'bench_many_scopes', scopes: Math.ceil(rows / 3), vacuums: true },
  { schema: 'bench_no_vacuum', scopes: 1000, vacuums: false },
]

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: 8 })
pool.on('error', () => {})
// Sizes don't depend on how long commits take.
await pool.query('ALTER SYSTEM SET synchronous_commit = off')
await pool.query('SELECT pg_reload_conf()')

for (const { schema, scopes, vacuums } of runs) {
  const store = postgresAdapter(pool, { schema })
  await store.migrate()
  await pool.query(`ALTER TABLE ${schema}.objects SET (autovacuum_enabled = off)`)
  const start = performance.now()
  let made = 0
  for (let next = FIRST_VACUUM; made < rows; next = Math.ceil(next * (1 + SHARE))) {
    const until = Math.min(next, rows)
    await Promise.all(
      Array.from({ length: CALLERS }, async () => {
        while (made < until) await upload(store, `user:${made++ % scopes}`)
      }),
    )
    if (vacuums) await pool.query(`VACUUM ${schema}.objects`)
  }
  await pool.query(`VACUUM (ANALYZE) ${schema}.objects, ${schema}.scope_usage`)
  console.log(
    `${withSeparators(rows)} uploads into ${withSeparators(scopes)} scopes, ` +
      `${vacuums ? `with a vacuum at every ${SHARE * 100} %` : 'without vacuums'}:`,
  )
  printSizes((performance.now() - start) / 1000, await measureSizes(pool, schema))
}
await pool.end()
await cluster.stop()

/** Makes an upload with a random key, as those of `createS3Server` are. */
async function upload(store, scope) {
  const { key, id } = await reserve(store, scope, ample, `uploads/${randomUUID().replaceAll('-', '')}`)
  await new Promise((resolve) => setTimeout(resolve, Math.random() * LONGEST_UPLOAD_MS))
  await store.confirm({ bucket, key, id, scope, size: SIZE, eTag: randomUUID(), quota: ample })
}
