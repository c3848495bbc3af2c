import { createAttemptId } from '@svc/db'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const NOW = Date.parse('2030-01-01')
const SECOND = 1000
const MAX_SUM = Number.MAX_SAFE_INTEGER
const KEYS = ['a', 'b', 'c', 'd']

/** A write in the columns of `scope_write_v1`. */
type Write = Readonly<Record<string, string | number | boolean | null>>

/** Writes of one scope in one transaction. Unlike the batcher, a batch here may contain one key several times. */
interface Batch {
  readonly scope: string
  readonly second: number
  readonly writes: readonly Choice[]
}

interface Choice {
  readonly kind: 'reserve' | 'confirm'
  readonly key: string
  readonly size: number
  /** Whether a confirm is for the latest attempt of its key, or whether a reserve is new rather than repeated. */
  readonly isTypical: boolean
  readonly lasts: number
  readonly overwrite: boolean
  readonly ownBytes: boolean
  readonly maxBytes: number | null
  readonly maxFiles: number | null
}

const limit = (...values: readonly number[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, fc.constantFrom(...values))

const mostly = fc.nat(3).map((n) => n > 0)

const choice: fc.Arbitrary<Choice> = fc.record({
  kind: fc.constantFrom('reserve', 'confirm'),
  key: fc.constantFrom(...KEYS),
  size: fc.oneof({ weight: 40, arbitrary: fc.constantFrom(0, 1, 5, 10, 20) }, fc.constant(MAX_SUM - 10)),
  isTypical: mostly,
  lasts: fc.constantFrom(1, 100, 100),
  overwrite: mostly,
  ownBytes: fc.boolean(),
  maxBytes: limit(0, 15, 40, MAX_SUM),
  maxFiles: limit(0, 2, 4, MAX_SUM),
})

const batches: fc.Arbitrary<Batch[]> = fc.array(
  fc.record({
    scope: fc.constantFrom('one', 'one', 'one', 'other'),
    second: fc.nat(9),
    writes: fc.oneof(
      fc.array(choice, { minLength: 1, maxLength: 8 }),
      fc.uniqueArray(choice, { minLength: 1, maxLength: 6, selector: ({ key }) => key }),
    ),
  }),
  { minLength: 4, maxLength: 10 },
)

describePostgres('write_batch_v1 equals its writes one after the other', (url) => {
  const [sequential, batched] = [freshSchema(), freshSchema()]
  const pool = poolOf(url)
  beforeAll(async () => {
    for (const schema of [sequential, batched]) await postgresAdapter(pool, { schema }).migrate()
  })
  beforeEach(async () => {
    await empty()
  })
  afterAll(async () => {
    for (const schema of [sequential, batched]) await dropSchema(pool, schema)
    await pool.end()
  })

  async function empty(): Promise<void> {
    for (const schema of [sequential, batched]) {
      for (const table of ['objects', 'scope_usage', 'leftovers']) {
        await pool.query(`DELETE FROM ${quoted(schema)}.${table}`)
      }
    }
  }

  /** Builds the writes of a batch. `attempts` holds the latest attempt of each key for confirms and repeats. */
  function writesOf({ second, writes }: Batch, attempts: Map<string, Write>): Write[] {
    const now = new Date(NOW + second * SECOND).toISOString()
    return writes.map(
      ({ kind, key, size, isTypical, lasts, overwrite, ownBytes, maxBytes, maxFiles }, place) => {
        const limits = { max_bytes: maxBytes, max_files: maxFiles }
        const last = attempts.get(key)
        if (kind === 'confirm') {
          const id = (isTypical && last?.['id']) || createAttemptId()
          return {
            kind,
            place,
            bucket: 'bucket',
            key,
            id,
            size,
            e_tag: 'e',
            content_type: null,
            now,
            ...limits,
          }
        }
        if (!isTypical && last) return { ...last, place, now }
        const id = createAttemptId()
        const attempt = {
          ...{ kind, place, bucket: 'bucket', key, id, declared_size: size, now, ...limits, overwrite },
          expires_at: new Date(NOW + (second + lasts) * SECOND).toISOString(),
          ...{ route: null, filename: null, content_type: 'text/plain', metadata: null, upload_id: null },
          storage_key: ownBytes ? id : null,
        }
        attempts.set(key, attempt)
        return attempt
      },
    )
  }

  async function runOneByOne(client: pg.ClientBase, scope: string, writes: readonly Write[]) {
    const results = []
    for (const w of writes) {
      const values =
        w['kind'] === 'reserve'
          ? [
              ...[w['id'], scope, w['bucket'], w['key'], w['declared_size'], w['expires_at'], w['route']],
              ...[w['filename'], w['content_type'], w['metadata'], w['storage_key'], w['upload_id']],
              ...[w['overwrite'], w['max_bytes'], w['max_files'], w['now']],
            ]
          : [
              ...[w['bucket'], w['key'], w['id'], scope, w['size'], w['e_tag'], w['content_type']],
              ...[w['max_bytes'], w['now']],
            ]
      const parameters = values.map((_, i) => `$${i + 1}`).join(', ')
      const text = `SELECT ${quoted(sequential)}.${w['kind'] as string}_v1(${parameters}) AS answer`
      results.push((await client.query<{ answer: string }>(text, values)).rows[0]!.answer)
    }
    return results
  }

  async function runBatch(client: pg.ClientBase, scope: string, writes: readonly Write[]) {
    const { rows } = await client.query<{ place: number; answer: string }>(
      `SELECT place, answer FROM ${quoted(batched)}.write_batch_v1($1, $2)`,
      [scope, JSON.stringify(writes)],
    )
    return rows.sort((a, b) => a.place - b.place).map(({ answer }) => answer)
  }

  async function tablesOf(client: pg.ClientBase, schema: string) {
    const rows = async (table: string, order: string) =>
      (await client.query(`SELECT * FROM ${quoted(schema)}.${table} ORDER BY ${order}`)).rows as unknown[]
    return {
      objects: await rows('objects', 'attempt_id'),
      leftovers: await rows('leftovers', 'attempt_id'),
      // A scope without objects may have a row of zeros or no row.
      usage: (await rows('scope_usage', 'scope')).filter((row) =>
        Object.values(row as object).some((sum) => /^-?[1-9]/.test(String(sum))),
      ),
    }
  }

  it('for any rows at the keys, any quota and repeated writes', async () => {
    const client = await pool.connect()
    await fc.assert(
      fc
        .asyncProperty(batches, async (list) => {
          const attempts = new Map<string, Write>()
          for (const batch of list) {
            const writes = writesOf(batch, attempts)
            expect(await runBatch(client, batch.scope, writes)).toEqual(
              await runOneByOne(client, batch.scope, writes),
            )
          }
          expect(await tablesOf(client, batched)).toEqual(await tablesOf(client, sequential))
          expect(await postgresAdapter(client, { schema: batched }).checkUsage()).toEqual([])
        })
        .afterEach(empty),
      { numRuns: 30 },
    )
    client.release()
  })
})
