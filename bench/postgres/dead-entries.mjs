// Lists objects right after 200,000 uploads into one scope, with autovacuum off, after ANALYZE, while an upload is pending, and after a vacuum.
// --rows=N: number of uploads. --check: exit with 1 if a bar is missed.
import { cpus } from 'node:os'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { openReport } from '../report.mjs'
import { printTable } from '../ratio-table.mjs'
import { compareCosts } from '../servers/compare-costs.mjs'
import { readOptions, withSeparators } from '../servers/options.mjs'
import { bucket } from '../servers/scopes.mjs'
import { ample, reserve } from '../servers/store-calls.mjs'
import { SETTINGS, startCluster } from './cluster.mjs'
import { measureServerCosts } from './server-costs.mjs'

const { check, rows } = readOptions({ rows: 200_000, leastRows: 50_000 })
const SCOPE = 'user:hot'
const EMPTY = 'user:empty'
const LIMIT = 100
/** One of so many rows has the rare route. */
const RARE = 1000
const ROUNDS = 101
const PER_ROUND = 10
const BAR = { most: 1.2 }
/** Merging two statuses costs a third of a page of one. Callers notice less of it, because they wait for other things too. */
const PROCESSOR_BAR = { most: 1.5 }
const TIMES = ['first', 'second', 'third']
const LISTS = {
  'no status': {},
  'active of a rare route': { status: 'active', route: 'rare' },
  'a rare route, no status': { route: 'rare' },
}

const cluster = await startCluster()
const pool = new pg.Pool({ ...cluster.connection, max: 1, idleTimeoutMillis: 0 })
pool.on('error', () => {})
const store = postgresAdapter(pool)
const { server_version: version } = (await pool.query('SHOW server_version')).rows[0]
console.log(`PostgreSQL ${version} (${cluster.from}) with ${SETTINGS.join(', ')}, over local TCP;
Node ${process.versions.node}, ${cpus().length} CPUs. ${withSeparators(rows)} uploads, each an INSERT and an UPDATE of its row. Times are
medians of ${ROUNDS} alternating rounds of ${PER_ROUND} lists, in microseconds per list. Ratios are medians of the rounds' ratios.
`)
await store.migrate()
await pool.query('ALTER TABLE svc_db.objects SET (autovacuum_enabled = off)')
await pool.query(`
  INSERT INTO svc_db.objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type, declared_size,
    storage_key, expires_at, created_at, updated_at, writable_until)
  SELECT id, id, '${SCOPE}', '${bucket}', 'uploads/' || g, 'pending', CASE WHEN g % ${RARE} = 0 THEN 'rare' ELSE 'common' END, 'holiday picture.jpg', 'image/jpeg', 1,
    'uploads/' || g, at + interval '1 hour', at, at, at + interval '1 hour'
  FROM (
    SELECT g, timestamptz '2025-01-01' + g * interval '1 second' AS at,
      (lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000')::uuid AS id
    FROM generate_series(1, ${rows}) g
  ) made`)
await pool.query(`
  UPDATE svc_db.objects SET status = 'active', size = 1, e_tag = 'e', declared_size = NULL, expires_at = NULL,
    updated_at = created_at, confirmed_at = created_at`)
// As the functions of the schema count them.
await pool.query(`INSERT INTO svc_db.scope_usage (scope, bytes, files) VALUES ('${SCOPE}', ${rows}, ${rows})`)

const costs = await measureServerCosts(pool)
const report = openReport('postgres, dead entries')
// Postgres remembers which entries the first scan found dead, so each of these calls differs.
printTable('Calls that start at the dead entries, in ms', [
  ['', ...TIMES],
  await timesOf('listExpired', () => store.listExpired({ limit: LIMIT })),
  await timesOf('listExpired of the scope', () => store.listExpired({ scope: SCOPE, limit: LIMIT })),
  await timesOf('listExpired of another scope', () => store.listExpired({ scope: EMPTY, limit: LIMIT })),
  await timesOf('purgeExpired', () => store.purgeExpired({ limit: LIMIT })),
])
await compareLists('right after the uploads')
await pool.query('ANALYZE svc_db.objects')
await compareLists('after ANALYZE')
const { key, id } = await reserve(store, SCOPE, ample)
await compareLists('while an upload is pending')
await store.release({ bucket, key, id, scope: SCOPE })
await pool.query('VACUUM (ANALYZE) svc_db.objects')
await compareLists('after a vacuum')
printTable('The same calls after a vacuum, in ms', [
  ['', ...TIMES],
  await timesOf('listExpired', () => store.listExpired({ limit: LIMIT })),
  await timesOf('purgeExpired', () => store.purgeExpired({ limit: LIMIT })),
])

await pool.end()
await cluster.stop()
report.close({ check, isCorrect: true })

async function timesOf(name, call) {
  const times = []
  while (times.length < TIMES.length) {
    const start = performance.now()
    await call()
    times.push((performance.now() - start).toFixed(2))
  }
  return [name, ...times]
}

async function compareLists(when) {
  const list = (query) => async () => {
    for (let made = 0; made < PER_ROUND; made++)
      await store.listByScope({ scope: SCOPE, limit: LIMIT, ...query })
  }
  const active = list({ status: 'active' })
  for (const [name, query] of Object.entries(LISTS)) {
    report.add(
      `A page of ${LIMIT}, ${when}`,
      ['active', name],
      await compareCosts({
        base: () => costs.measure(active),
        subject: () => costs.measure(list(query)),
        bars: { waiting: BAR, ...(costs.hasProcessorTime && { processor: PROCESSOR_BAR }) },
        names: { waiting: `${name}: time of the caller`, processor: `${name}: processor time of the server` },
        perRound: PER_ROUND,
        rounds: ROUNDS,
      }),
    )
  }
}
