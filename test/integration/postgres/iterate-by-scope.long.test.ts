import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const ROWS = 1_000_000
/** Every so many rows, one that others change. */
const STEP = 1000
/** MiB. All rows at once would take hundreds. */
const HEAP = 64

const FILL = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, route, size, created_at, updated_at, confirmed_at,
    writable_until)
  SELECT id, id, 'ann', 'files', 'key ' || g, 'active', CASE WHEN g % ${STEP} = 0 THEN 'changed' ELSE 'kept' END, 5, '2020-01-01',
    '2020-01-01', '2020-01-01', '2020-01-01'
  FROM (
    SELECT g, (lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000')::uuid AS id FROM generate_series(0, ${ROWS - 1}) g
  ) made;
  INSERT INTO ${schema}.scope_usage (scope, bytes, files) VALUES ('ann', ${ROWS * 5}, ${ROWS})`

describePostgres('iterateByScope', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  const store = postgresAdapter(pool, { schema })
  let program: BundledWorker
  beforeAll(async () => {
    program = await bundleWorker(fileURLToPath(new URL('iterated-scope.ts', import.meta.url)), {
      '@svc/db/postgres': fileURLToPath(new URL('../../../src/adapters/postgres/index.ts', import.meta.url)),
    })
    await store.migrate()
    await pool.query(FILL(quoted(schema)))
    await pool.query(`ANALYZE ${quoted(schema)}.objects`)
  })
  afterAll(async () => {
    program.remove()
    await dropSchema(pool, schema)
    await pool.end()
  })

  it('yields a million rows in the memory of one page, and each that stays once, beside writers', async () => {
    const iterated = promisify(execFile)(process.execPath, [`--max-old-space-size=${HEAP}`, program.file], {
      env: { ...process.env, NODE_OPTIONS: '', NODE_V8_COVERAGE: '', DATABASE_URL: url, SCHEMA: schema },
    })
    let isDone = false
    void iterated.finally(() => (isDone = true)).catch(() => undefined)
    let changes = 0
    for (let row = 0; !isDone && row < ROWS; row += STEP, changes++) {
      // From both ends, so some are behind the iteration and others in front of it.
      const key = `key ${changes % 2 === 0 ? row : ROWS - STEP - row}`
      const at = { bucket: 'files', key }
      if (changes % 3 === 0) await store.remove(at)
      else if (changes % 3 === 1) await store.transfer({ ...at, from: 'ann', to: 'bob' })
      else await store.update({ ...at, filename: 'renamed' })
      const created = { scope: 'ann', bucket: 'files', key: `new ${row}`, storageKey: `new ${row}`, size: 1 }
      await store.adopt({ ...created, route: 'changed', createdAt: new Date() })
    }
    const { stdout } = await iterated
    const seen = JSON.parse(stdout) as Record<'rows' | 'kept', number> & { readonly isSorted: boolean }
    expect(seen).toMatchObject({ kept: ROWS - ROWS / STEP, isSorted: true })
    expect(changes).toBeGreaterThan(0)
  })
})
