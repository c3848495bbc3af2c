import { createAttemptId, StorageError, type StorageObjectStore } from '@svc/db'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const NOW = Date.parse('2030-01-01')
const SECOND = 1000
const TABLES = ['objects', 'leftovers', 'scope_usage']

type Call = (store: StorageObjectStore) => Promise<unknown>
interface Batch {
  readonly scope: string
  readonly second: number
  readonly calls: readonly Choice[]
}
interface Choice {
  readonly kind: 'reserve' | 'confirm' | 'adopt'
  readonly key: string
  readonly size: number
  /** Whether a confirm is for the latest attempt of its key, or whether a reserve is new rather than repeated. */
  readonly isTypical: boolean
  readonly lasts: number
  readonly overwrite: boolean
  readonly storageKey: string | null
  readonly maxBytes: number | null
  readonly maxFiles: number | null
}

const limit = (...values: readonly number[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, fc.constantFrom(...values))
const mostly = fc.nat(3).map((n) => n > 0)
const choiceOf = (...kinds: readonly Choice['kind'][]): fc.Arbitrary<Choice> =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    size: fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom(0, 1, 5, 10, 20) },
      fc.constant(Number.MAX_SAFE_INTEGER - 10),
    ),
    isTypical: mostly,
    lasts: fc.constantFrom(1, 100, 100),
    overwrite: mostly,
    storageKey: fc.constantFrom(null, 'a', 'b', 'x', 'y'),
    maxBytes: limit(0, 15, 40, Number.MAX_SAFE_INTEGER),
    maxFiles: limit(0, 2, 4, Number.MAX_SAFE_INTEGER),
  })
// A batch has each key once, because calls of one key follow each other.
const callsOf = (name: (choice: Choice) => unknown, ...kinds: readonly Choice['kind'][]) =>
  fc.uniqueArray(choiceOf(...kinds), { minLength: 1, maxLength: 4, selector: name })
const batches: fc.Arbitrary<Batch[]> = fc.array(
  fc.record({
    scope: fc.constantFrom('one', 'one', 'one', 'other'),
    second: fc.nat(9),
    calls: fc.oneof(
      { weight: 3, arbitrary: callsOf(({ key }) => key, 'reserve', 'confirm') },
      callsOf(({ key, storageKey }) => storageKey ?? key, 'adopt'),
    ),
  }),
  { minLength: 4, maxLength: 10 },
)

describePostgres('calls in a batch', (url) => {
  const pool = poolOf(url)
  const schemas = [freshSchema(), freshSchema()] as const
  let now = NOW
  const [sequential, batched] = schemas.map((schema) =>
    postgresAdapter(pool, { schema, now: () => new Date(now) }),
  ) as [StorageObjectStore, StorageObjectStore]
  beforeAll(async () => {
    for (const store of [sequential, batched]) await store.migrate()
  })
  afterAll(async () => {
    for (const schema of schemas) await dropSchema(pool, schema)
    await pool.end()
  })

  /** Keys of the calls that let a batch collect, which hold the locks of these keys. */
  const COLLECTING = ['first', 'second']

  /** Empties the tables, apart from objects of another scope. */
  async function prepare(): Promise<void> {
    for (const schema of schemas)
      for (const table of TABLES) await pool.query(`DELETE FROM ${quoted(schema)}.${table}`)
    now = NOW
    for (const store of [sequential, batched])
      for (const key of ['x', 'y', ...COLLECTING]) await refused('adopt', 'third', key)(store)
  }

  /** A call of another scope for one of those keys, which changes nothing. */
  const refused =
    (kind: Choice['kind'], scope: string, key: string): Call =>
    (store) => {
      const at = { scope, bucket: 'bucket', key, size: 1 }
      if (kind !== 'adopt') return store.confirm({ ...at, id: createAttemptId() })
      return store.adopt({ ...at, storageKey: `${key} of ${scope}`, createdAt: new Date(NOW) })
    }

  /** Returns all rows in any order, apart from sums of zero. */
  async function rowsOf(schema: string): Promise<string[]> {
    const tables = TABLES.map(async (table) => {
      const { rows } = await pool.query<object>(`SELECT * FROM ${quoted(schema)}.${table}`)
      const texts = rows.map((row) => JSON.stringify(withoutIds(row)))
      return table === 'scope_usage' ? texts.filter((row) => /[^-\w][1-9]/.test(row)) : texts
    })
    return (await Promise.all(tables)).flatMap((rows) => rows.sort())
  }

  /** Returns the calls of a batch. `attempts` holds the latest attempt of each key for confirms and repeats. */
  function callsOfBatch({ scope, second, calls }: Batch, attempts: Map<string, Reservation>): Call[] {
    return calls.map(({ kind, key, size, isTypical, lasts, overwrite, storageKey, ...quota }): Call => {
      const at = { scope, bucket: 'bucket', key }
      const last = attempts.get(key)
      if (kind === 'confirm') {
        const id = (isTypical && last?.id) || createAttemptId()
        return (store) => store.confirm({ ...at, id, size, quota, eTag: 'e', contentType: 'image/png' })
      }
      if (kind === 'adopt') {
        const bytes = { size, storageKey: storageKey ?? key, filename: 'ü', metadata: { a: 'b' } }
        return (store) => store.adopt({ ...at, ...bytes, createdAt: new Date(NOW) })
      }
      if (!isTypical && last) return (store) => store.reserve({ ...last, scope })
      const id = createAttemptId()
      const attempt = {
        ...{ ...at, id, overwrite, quota, declaredSize: size, contentType: 'text/plain' },
        ...{ storageKey: storageKey && id, expiresAt: new Date(NOW + (second + lasts) * SECOND) },
      }
      attempts.set(key, attempt)
      return (store) => store.reserve(attempt)
    })
  }

  it('have the results and the effect that they have one after the other', async () => {
    const query = vi.spyOn(pool, 'query')
    await fc.assert(
      fc
        .asyncProperty(batches, async (list) => {
          const attempts = new Map<string, Reservation>()
          for (const batch of list) {
            now = NOW + batch.second * SECOND
            const calls = callsOfBatch(batch, attempts)
            const results = []
            for (const call of calls) results.push(await outcomeOf(call(sequential)))
            // Two calls in flight make the others wait and collect.
            const { kind } = batch.calls[0]!
            const first = COLLECTING.map((key) => refused(kind, batch.scope, key)(batched))
            const together = calls.map((call) => outcomeOf(call(batched)))
            await Promise.allSettled(first)
            expect(await Promise.all(together)).toEqual(results)
          }
          expect(await batched.checkUsage()).toEqual([])
          expect(await rowsOf(schemas[1])).toEqual(await rowsOf(schemas[0]))
        })
        .beforeEach(prepare),
      { numRuns: 30 },
    )
    const texts = query.mock.calls.map((call) => JSON.stringify(call[0]))
    for (const name of ['write_batch', 'adopt_batch']) {
      expect(texts.filter((text) => text.includes(name)).length, name).toBeGreaterThan(10)
    }
    query.mockRestore()
  })
})

type Reservation = Parameters<StorageObjectStore['reserve']>[0] & { readonly id: string }

/** Leaves out ids at any depth, because an adoption makes random ones. */
function withoutIds(value: unknown): unknown {
  const isId = (name: string) => ['id', 'attemptId', 'attempt_id'].includes(name)
  return JSON.parse(JSON.stringify(value), (name, inner: unknown) => (isId(name) ? undefined : inner))
}

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return withoutIds(await call)
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError)
    return (error as StorageError).code
  }
}
