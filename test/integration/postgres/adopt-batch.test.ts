import { createAttemptId } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import fc from 'fast-check'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

const NOW = Date.parse('2030-01-01')
const NAMES = ['a', 'b', 'c', 'd']
const SCOPES = ['ann', 'bob']
const BUCKET = 'bucket'

const name = fc.constantFrom(...NAMES)
const scope = fc.constantFrom(...SCOPES)
const size = fc.oneof({ weight: 20, arbitrary: fc.nat(9) }, fc.constant(Number.MAX_SAFE_INTEGER - 20))

/** What is at a key before the batch. */
const existing = fc.record({
  key: name,
  scope,
  state: fc.constantFrom('pending', 'expired', 'active', 'leftover'),
  storageKey: fc.option(name),
})
const adoption = fc.record({ key: name, storageKey: name, size, metadata: fc.constantFrom(null, { a: '1' }) })

describePostgres('adopt_batch_v1', (url) => {
  const [sequential, batched] = [freshSchema(), freshSchema()]
  const pool = poolOf(url)
  const stores = [sequential, batched].map((schema) =>
    postgresAdapter(pool, { schema, now: () => new Date(NOW) }),
  )
  beforeAll(async () => {
    for (const store of stores) await store.migrate()
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

  async function rowsOf(client: pg.Pool, schema: string) {
    const rows = async (table: string, order: string) =>
      (await client.query(`SELECT * FROM ${quoted(schema)}.${table} ORDER BY ${order}`)).rows as unknown[]
    return {
      objects: await rows('objects', 'attempt_id'),
      leftovers: await rows('leftovers', 'attempt_id'),
      // A scope without objects may have a row of zeros or no row.
      usage: (await rows('scope_usage', 'scope')).filter((row) => /[^-\w][1-9]/.test(JSON.stringify(row))),
    }
  }

  it('equals its adoptions one after the other', async () => {
    await fc.assert(
      fc
        .asyncProperty(
          fc.uniqueArray(existing, { maxLength: 4, selector: ({ key }) => key }),
          scope,
          fc.array(adoption, { minLength: 1, maxLength: 5 }),
          async (before, owner, adoptions) => {
            for (const { key, state, storageKey, ...row } of before) {
              const id = createAttemptId()
              const ends = new Date(NOW + (state === 'pending' ? 1000 : 0))
              for (const schema of [sequential, batched]) {
                const then = postgresAdapter(pool, { schema, now: () => new Date(NOW - 1000) })
                const reservation = { ...row, id, bucket: BUCKET, key, storageKey, declaredSize: 3 }
                await then.reserve({ ...reservation, expiresAt: ends })
                if (state === 'active') await then.confirm({ bucket: BUCKET, key, id, size: 3 })
                if (state === 'leftover') await then.release({ bucket: BUCKET, key, id })
              }
            }
            const commands = adoptions.map(({ key, storageKey, size: bytes, metadata }, place) => ({
              ...{ place, id: createAttemptId(), bucket: BUCKET, key, storage_key: storageKey, size: bytes },
              ...{
                created_at: new Date(NOW - place),
                e_tag: 'e',
                route: null,
                filename: 'ü',
                content_type: 't/x',
              },
              ...{ metadata, now: new Date(NOW) },
            }))
            const answers = []
            for (const { place: _place, ...command } of commands) {
              const [id, ...rest] = Object.values(command)
              const values = [id, owner, ...rest]
              const parameters = values.map((_, index) => `$${index + 1}`).join(', ')
              const text = `SELECT ${quoted(sequential)}.adopt_v1(${parameters}) AS answer`
              answers.push((await pool.query<{ answer: string }>(text, values)).rows[0]!.answer)
            }
            const { rows } = await pool.query<{ place: number; answer: string }>(
              `SELECT place, answer FROM ${quoted(batched)}.adopt_batch_v1($1, $2)`,
              [owner, JSON.stringify(commands)],
            )
            expect(rows).toEqual(answers.map((answer, place) => ({ place, answer })))
            expect(await rowsOf(pool, batched)).toEqual(await rowsOf(pool, sequential))
            expect(await stores[1]!.checkUsage()).toEqual([])
          },
        )
        .afterEach(empty),
      { numRuns: 30 },
    )
  })

  it('adopts for many callers at once, without a deadlock', async () => {
    await empty()
    const [, store] = stores
    const others = postgresAdapter(pool, { schema: batched, now: () => new Date(NOW) })
    const names = Array.from({ length: 60 }, (_, index) => `many/${index}`)
    const adopt = (by: typeof others, owner: string) => (storageKey: string) =>
      by.adopt({
        scope: owner,
        bucket: BUCKET,
        key: storageKey,
        storageKey,
        size: 1,
        createdAt: new Date(NOW),
      })
    const results = await Promise.all([
      ...names.map(adopt(store!, 'ann')),
      ...names.toReversed().map(adopt(others, 'bob')),
    ])
    expect(results.filter(({ known }) => !known)).toHaveLength(60)
    const [ann, bob] = await Promise.all(SCOPES.map((owner) => store!.getScopeUsage(owner)))
    expect([ann!.files + bob!.files, ann!.bytes + bob!.bytes]).toEqual([60, 60])
    expect(await store!.checkUsage()).toEqual([])
  })
})
