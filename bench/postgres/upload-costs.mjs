import { postgresAdapter } from '@svc/db/postgres'
import { compareCosts } from '../servers/compare-costs.mjs'
import { upload } from '../servers/store-calls.mjs'
import { measureServerCosts } from './server-costs.mjs'
import { bareUpload } from './writes.mjs'
import { adapterOfVersion15, comparedAdapter, createSchemaOfVersion15 } from './version-1-5.mjs'

const SCHEMAS = {
  bare: 'bench_bare_costs',
  before: 'bench_version_1_5',
  off: 'bench_events_off',
  on: 'bench_events_on',
}
/** Enough that the plans are those of large tables. */
const LOADED = 50_000
const ROUNDS = 301
const UPLOADS = 10
const SCOPE = 'user:costs'
const BARS = {
  bare: { waiting: {}, processor: {}, wal: {} },
  off: { waiting: { most: 1.03 }, processor: { most: 1.03 }, wal: { most: 1.03 } },
  // The event is one more row with a copy of the object, so WAL has no bar.
  on: { waiting: { most: 1.25 }, processor: { most: 1.3 }, wal: {} },
}
const NAMES = {
  waiting: 'time of the caller',
  processor: 'processor time of the server',
  wal: 'WAL in bytes',
}

/**
 * Compares reserve + confirm of four equally loaded schemas: one of this version that the bare driver writes to, one of
 * 1.5.5, and two of this version, with events off and on. All of them share one connection.
 */
export async function compareUploadCosts(pool) {
  await createSchemaOfVersion15(pool, SCHEMAS.before)
  await postgresAdapter(pool, { schema: SCHEMAS.bare }).migrate()
  await postgresAdapter(pool, { schema: SCHEMAS.off }).migrate()
  await postgresAdapter(pool, { schema: SCHEMAS.on, events: true }).migrate()
  // Triggers would record each loaded row, on one side only.
  await pool.query('SET session_replication_role = replica')
  for (const schema of Object.values(SCHEMAS)) await copyLoadedRows(pool, schema)
  await pool.query('RESET session_replication_role')
  await pool.query('CHECKPOINT')

  const costs = await measureServerCosts(pool)
  const before = adapterOfVersion15(pool, SCHEMAS.before)
  const off = comparedAdapter(pool, SCHEMAS.off)
  const on = comparedAdapter(pool, SCHEMAS.on)
  const calls = {
    bare: () => bareUpload(pool, SCHEMAS.bare, SCOPE),
    before: () => upload(before, SCOPE),
    off: () => upload(off, SCOPE),
    on: () => upload(on, SCOPE),
  }
  const compare = (base, subject, { processor, ...others }) =>
    compareCosts({
      base: () => costs.measure(() => repeated(calls[base])),
      subject: () => costs.measure(() => repeated(calls[subject])),
      bars: costs.hasProcessorTime ? { processor, ...others } : others,
      names: NAMES,
      perRound: UPLOADS,
      rounds: ROUNDS,
    })
  return {
    bare: await compare('bare', 'off', BARS.bare),
    off: await compare('before', 'off', BARS.off),
    on: await compare('off', 'on', BARS.on),
  }
}

async function repeated(call) {
  for (let made = 0; made < UPLOADS; made++) await call()
}

async function copyLoadedRows(pool, schema) {
  await pool.query(`
    INSERT INTO ${schema}.objects SELECT * FROM svc_db.objects LIMIT ${LOADED};
    INSERT INTO ${schema}.scope_usage SELECT * FROM svc_db.scope_usage`)
  await pool.query(`VACUUM (ANALYZE) ${schema}.objects, ${schema}.scope_usage`)
}
