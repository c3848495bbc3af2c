import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, inTransaction, migratedSchema, poolOf, quoted } from './schemas.js'
import { freePort } from '../../servers/private-server.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const BUCKET = 'bucket'
const CALLERS = 32
const KEYS = Array.from({ length: CALLERS }, (_, index) => `${index}`)
const inAnHour = () => new Date(Date.now() + 3_600_000)

describePostgres('concurrent writes of one scope', (url) => {
  const direct = poolOf(url)
  const schema = migratedSchema(direct)
  let proxy: WireProxy
  let pool: ReturnType<typeof poolOf>
  let store: StorageObjectStore
  let scope: string
  let counter = 0

  beforeAll(async () => {
    proxy = await wireProxy(url)
    pool = poolOf(proxy.url)
  })
  beforeEach(() => {
    store = postgresAdapter(pool, { schema })
    scope = `scope ${++counter}`
    proxy.roundTrips = 0
  })
  afterAll(async () => {
    await pool.end()
    await proxy.close()
  })

  const attempt = (key: string, more: object = {}) => ({
    ...{ scope, bucket: BUCKET, key: `${scope}/${key}` },
    ...{ declaredSize: 10, expiresAt: inAnHour(), ...more },
  })

  it('fail with an error each, whose stack shows the caller', async () => {
    const unreachable = poolOf(`postgres://127.0.0.1:${await freePort()}/none`)
    const away = postgresAdapter(unreachable, { schema })
    async function namedCaller(key: string) {
      await away.reserve(attempt(key))
    }
    const errors = await Promise.all(KEYS.map((key) => namedCaller(key).catch((error: Error) => error)))
    await unreachable.end()
    expect(new Set(errors).size).toBe(CALLERS)
    for (const error of errors) expect(error?.stack).toContain('namedCaller')
  })

  /**
   * Makes calls that share one batch, because two others are in flight, and returns their rows or error codes. The batch
   * waits for the usage row of the scope until those two have ended, so `beforeBatch` runs before it has a response.
   * Takes three round trips before the batch.
   */
  async function inOneBatch(calls: readonly (() => Promise<StorageObject>)[], beforeBatch = () => {}) {
    await store.reserve(attempt('first', { declaredSize: 0 }))
    let settled: Promise<PromiseSettledResult<StorageObject>[]> | undefined
    await inTransaction(direct, async (holder) => {
      await holder.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = $1 FOR UPDATE`, [scope])
      const unknown = ['one', 'two'].map((key) =>
        store.confirm({ ...attempt(`unknown ${key}`), id: createAttemptId(), size: 1 }),
      )
      settled = Promise.allSettled(calls.map((call) => call()))
      await Promise.allSettled(unknown)
      beforeBatch()
    })
    return (await settled!).map((result) =>
      result.status === 'fulfilled' ? result.value : (result.reason as { code: string }).code,
    )
  }

  it('32 reserves take three queries, and each caller gets its own row', async () => {
    const rows = await Promise.all(
      KEYS.map((key) => store.reserve(attempt(key, { declaredSize: Number(key) }))),
    )
    expect(proxy.roundTrips).toBe(3)
    rows.forEach((row, i) => expect(row).toMatchObject({ key: `${scope}/${i}`, declaredSize: i }))
    for (const row of rows) expect(await store.find(row)).toEqual(row)
    expect(await store.getScopeUsage(scope)).toMatchObject({ reservedBytes: 496, reservedFiles: CALLERS })
  })

  it('32 reserves and confirms share batches', async () => {
    await Promise.all(
      KEYS.map(async (name) => {
        const { bucket, key, id } = await store.reserve(attempt(name))
        const size = Number(name)
        const row = await store.confirm({ bucket, key, id, scope, size })
        expect(row).toMatchObject({ key, status: 'active', size, attemptId: id })
      }),
    )
    expect(proxy.roundTrips).toBeLessThanOrEqual(5)
    expect(await store.getScopeUsage(scope)).toMatchObject({ bytes: 496, files: CALLERS, reservedBytes: 0 })
    expect(await store.checkUsage(scope)).toEqual([])
  })

  it('a single caller makes one query, and so does each caller of another scope', async () => {
    const { bucket, key, id } = await store.reserve(attempt('alone'))
    expect(proxy.roundTrips).toBe(1)
    await store.confirm({ bucket, key, id, scope, size: 1 })
    expect(proxy.roundTrips).toBe(2)
    await Promise.all(
      ['a', 'b', 'c'].map((name) => store.reserve(attempt(name, { scope: `${scope} ${name}` }))),
    )
    expect(proxy.roundTrips).toBe(5)
  })

  it('confirms without a scope share batches in the process that reserved', async () => {
    const rows = await Promise.all(KEYS.map((key) => store.reserve(attempt(key))))
    proxy.roundTrips = 0
    await Promise.all(rows.map(({ bucket, key, id }) => store.confirm({ bucket, key, id, size: 1 })))
    expect(proxy.roundTrips).toBeLessThanOrEqual(5)
    const usage = { bytes: CALLERS, files: CALLERS, reservedBytes: 0 }
    expect(await store.getScopeUsage(scope)).toMatchObject(usage)
  })

  it('a confirm without a scope finds the object of an owner who received it', async () => {
    const { bucket, key, id } = await store.reserve(attempt('given away'))
    await store.confirm({ bucket, key, id, size: 1 })
    await postgresAdapter(pool, { schema }).transfer({ bucket, key, from: scope, to: `${scope} 2` })
    expect(await store.confirm({ bucket, key, id, size: 1 })).toMatchObject({ scope: `${scope} 2` })

    const other = await store.reserve(attempt('confirmed elsewhere'))
    const elsewhere = postgresAdapter(pool, { schema })
    await elsewhere.confirm({ bucket, key: other.key, id: other.id, size: 1 })
    await elsewhere.transfer({ bucket, key: other.key, from: scope, to: `${scope} 2` })
    const repeated = await store.confirm({ bucket, key: other.key, id: other.id, size: 1 })
    expect(repeated).toMatchObject({ scope: `${scope} 2` })
  })

  it('a confirm without an attempt runs alone, and so does one without a scope in another process', async () => {
    const [a, b] = await Promise.all(['a', 'b'].map((key) => store.reserve(attempt(key))))
    proxy.roundTrips = 0
    await Promise.all([
      postgresAdapter(pool, { schema }).confirm({ bucket: BUCKET, key: a!.key, id: a!.id, size: 1 }),
      store.confirm({ bucket: BUCKET, key: b!.key, scope, size: 1 }),
    ])
    expect(proxy.roundTrips).toBe(2)
  })

  describe('succeed next to a call that is refused', () => {
    async function between(input: ReturnType<typeof attempt>): Promise<unknown> {
      const attempts = [attempt('left'), input, attempt('right')]
      const [left, outcome, right] = await inOneBatch(attempts.map((each) => () => store.reserve(each)))
      expect(left).toMatchObject({ key: `${scope}/left` })
      expect(right).toMatchObject({ key: `${scope}/right` })
      for (const row of [left, right]) expect(await store.find(row as StorageObject)).toEqual(row)
      expect(await store.countByScope(scope)).toBe(3)
      expect(await store.checkUsage(scope)).toEqual([])
      return outcome
    }

    it('because another object has the id, which only the database detects', async () => {
      const { id, bucket, key } = await store.reserve(attempt('owner of the id', { scope: `${scope} other` }))
      expect(await between(attempt('poisoned', { id }))).toBe('VALIDATION_ERROR')
      expect(await store.find({ bucket, key })).toMatchObject({ id, scope: `${scope} other` })
    })

    it('because the database rejects a value', async () => {
      // A constraint simulates a value that the store accepts and the database rejects.
      await direct.query(
        `ALTER TABLE ${quoted(schema)}.objects ADD CONSTRAINT poison CHECK (filename <> 'poison')`,
      )
      const outcome = await between(attempt('poisoned', { filename: 'poison' })).finally(() =>
        direct.query(`ALTER TABLE ${quoted(schema)}.objects DROP CONSTRAINT poison`),
      )
      expect(outcome).toBe('23514')
    })
  })

  it('a batch whose response was lost is repeated, and takes effect once', async () => {
    const active = await store.reserve(attempt('active'))
    proxy.roundTrips = 0
    const [older, newer, other, confirmed, refused] = (await inOneBatch(
      [
        () => store.reserve(attempt('one', { storageKey: `${scope} older` })),
        () => store.reserve(attempt('one', { storageKey: `${scope} newer` })),
        () => store.reserve(attempt('two')),
        () => store.confirm({ bucket: BUCKET, key: active.key, id: active.id, scope, size: 7 }),
        () => store.reserve(attempt('no', { quota: { maxBytes: 1 } })),
      ],
      () => proxy.dropNextResponse(),
    )) as StorageObject[]
    // Three before the batch with `older`, that batch twice, then `newer`, which uses the same key as `older`.
    expect(proxy.roundTrips).toBe(6)
    for (const row of [newer!, other!, confirmed!]) expect(await store.find(row)).toEqual(row)
    expect(refused).toBe('QUOTA_EXCEEDED')
    expect(await store.getScopeUsage(scope)).toMatchObject({ bytes: 7, reservedFiles: 3, reservedBytes: 20 })
    expect(await store.checkUsage(scope)).toEqual([])
    const leftovers = await store.listLeftovers({ limit: 1000 })
    expect(leftovers.filter((row) => row.storageKey?.startsWith(`${scope} `))).toMatchObject([
      { attemptId: older!.id, storageKey: `${scope} older` },
    ])
  })
})
