import {
  checkStorage,
  createS3Server,
  db,
  memoryStorage,
  type ObjectStorage,
  type StorageDifference,
} from '@svc/db'
import type { ListedBytes } from '@svc/db/adapter'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const ROWS = 1_000_000
const PAGE = 1000
const BUCKET = 'files'
const LONG_AGO = new Date('2020-01-01')

const keyOf = (index: number) => `files/${String(index).padStart(8, '0')}`
/** Every third object keeps its bytes under its key, the others under the name that the server gives them. */
const FILL = (schema: string) => `
  INSERT INTO ${schema}.objects (id, attempt_id, scope, bucket, key, status, size, created_at, updated_at, confirmed_at,
    writable_until, storage_key)
  SELECT id, id, 'scope ' || g % 1000, '${BUCKET}', key, 'active', 5, '2020-01-01', '2020-01-01', '2020-01-01', '2020-01-01',
    CASE WHEN g % 3 > 0 THEN key || '~' || id END
  FROM (
    SELECT g, 'files/' || lpad(g::text, 8, '0') AS key, (lpad(to_hex(g), 8, '0') || '-0000-7000-8000-000000000000')::uuid AS id
    FROM generate_series(0, ${ROWS - 1}) g
  ) made`
const nameOf = (index: number) =>
  index % 3 > 0
    ? `${keyOf(index)}~${index.toString(16).padStart(8, '0')}-0000-7000-8000-000000000000`
    : keyOf(index)

const MISSING = [0, 999, 1000, 7777, ROWS - 1]
const CHANGED = [1, 5000, ROWS - 2]
const UNRECORDED = ['a', `${keyOf(4000)}.copy`, 'z']

/** Lists a bucket that is never in memory. */
function generatedBucket(): ObjectStorage {
  const missing = new Set(MISSING)
  const changed = new Set(CHANGED)
  const first = { key: UNRECORDED[0]!, size: 5, eTag: null, lastModified: LONG_AGO }
  function* items(start: number): Generator<ListedBytes> {
    yield first
    for (let index = start; index < ROWS; index++) {
      const item = {
        key: nameOf(index),
        size: changed.has(index) ? 6 : 5,
        eTag: null,
        lastModified: LONG_AGO,
      }
      if (index === 4000) yield { ...item, key: UNRECORDED[1]!, size: 5 }
      if (!missing.has(index)) yield item
    }
    yield { ...first, key: UNRECORDED[2]! }
  }
  return {
    ...memoryStorage(),
    async list({ after, limit }) {
      const page: ListedBytes[] = []
      const from = after?.startsWith('files/') ? Number(after.slice(6, 14)) : 0
      for (const item of items(from)) {
        if (after && item.key <= after) continue
        if (page.length === limit) return { items: page, next: page.at(-1)!.key }
        page.push(item)
      }
      return { items: page, next: null }
    },
  }
}

describePostgres('checkStorage', (url) => {
  const schema = freshSchema()
  const pool = poolOf(url)
  beforeAll(async () => {
    await postgresAdapter(pool, { schema }).migrate()
    await pool.query(FILL(quoted(schema)))
    await pool.query(`ANALYZE ${quoted(schema)}.objects`)
  })
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })

  it('finds exactly the planted differences, with at most two statements a page', async () => {
    const s3 = createS3Server({
      storage: generatedBucket(),
      bucket: BUCKET,
      plugins: [db({ client: postgresAdapter(pool, { schema }), resolveScope: () => null })],
    })
    const found: StorageDifference[] = []
    const query = vi.spyOn(pool, 'query')
    const result = await checkStorage(s3, { onDifference: (difference) => void found.push(difference) })
    const statements = query.mock.calls.length
    query.mockRestore()

    const keysOf = (kind: StorageDifference['kind']) =>
      found.flatMap((difference) => (difference.kind === kind ? difference.storageKey : []))
    expect(keysOf('missing')).toEqual(MISSING.map(nameOf))
    expect(keysOf('changed')).toEqual(CHANGED.map(nameOf))
    expect(keysOf('unrecorded')).toEqual(UNRECORDED)
    expect(result).toMatchObject({ items: ROWS - MISSING.length + 3, rows: ROWS })
    expect(statements).toBeLessThanOrEqual((ROWS / PAGE) * 2)
  })
})
