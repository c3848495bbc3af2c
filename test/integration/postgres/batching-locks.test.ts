import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describeOwnDatabase, freshSchema, poolOf, quoted } from './schemas.js'

const SCOPES = ['scope 1', 'scope 2'] as const
const KEYS = Array.from({ length: 40 }, (_, i) => `${i}`)
const ROUNDS = 15
const SECOND = 1000
const inAnHour = () => new Date(Date.now() + 3600 * SECOND)

interface Attempt {
  readonly key: string
  readonly id?: string
}
const attemptOf = (attempt: string | Attempt): Attempt =>
  typeof attempt === 'string' ? { key: attempt } : attempt

describeOwnDatabase('concurrent batches of two scopes over the same keys', (url) => {
  const pool = poolOf(url)
  afterAll(() => pool.end())

  /** Creates two stores. Each has its own batcher, like two processes. */
  async function twoStores() {
    const schema = freshSchema()
    let time = Date.parse('2030-01-01')
    const now = () => new Date(time)
    const stores = SCOPES.map(() => postgresAdapter(pool, { schema, now }))
    await stores[0]!.migrate()
    return {
      schema,
      stores: stores as [StorageObjectStore, StorageObjectStore],
      inASecond: () => new Date(time + SECOND),
      pass: (milliseconds: number) => {
        time += milliseconds
      },
    }
  }

  /** Reserves all keys in one batch. Two earlier calls of the scope are in flight, so these calls wait and collect. */
  async function reserveInOneBatch(
    store: StorageObjectStore,
    scope: string,
    keys: readonly (string | Attempt)[],
    expiresAt: Date,
  ): Promise<PromiseSettledResult<StorageObject>[]> {
    const reserve = (attempt: string | Attempt) =>
      store.reserve({ scope, bucket: 'bucket', declaredSize: 1, expiresAt, ...attemptOf(attempt) })
    const inFlight = [reserve(`${scope} first`), reserve(`${scope} second`)]
    const rest = Promise.allSettled(keys.map(reserve))
    await Promise.all(inFlight)
    return rest
  }

  /** Locks the keys and ids of these attempts until both batches wait for them, then rolls the attempts back. */
  async function holdUntilBothWait(schema: string, attempts: readonly Attempt[], expiresAt: Date) {
    const holder = await pool.connect()
    await holder.query('BEGIN')
    const store = postgresAdapter(holder, { schema })
    for (const attempt of attempts) {
      await store.reserve({ scope: 'holder', bucket: 'bucket', declaredSize: 1, expiresAt, ...attempt })
    }
    return { release: waitAndRollBack(holder) }
  }

  async function waitAndRollBack(holder: pg.PoolClient): Promise<void> {
    for (let blocked = 0; blocked < 2;) {
      const { rows } = await pool.query<{ blocked: string }>(
        `SELECT count(*) AS blocked FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      blocked = Number(rows[0]!.blocked)
    }
    await holder.query('ROLLBACK')
    holder.release()
  }

  const codes = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.map((result) =>
      result.status === 'fulfilled' ? 'reserved' : (result.reason as { code: string }).code,
    )

  it('answer writes of other keys while a transaction of another scope holds one', async () => {
    const { schema, stores, inASecond } = await twoStores()
    const [store] = stores
    const holder = await pool.connect()
    await holder.query('BEGIN')
    const attempt = { bucket: 'bucket', key: 'held', declaredSize: 1 }
    await postgresAdapter(holder, { schema }).reserve({ ...attempt, scope: 'eve', expiresAt: inAnHour() })
    const reserve = (key: string) => store.reserve({ ...attempt, scope: 'ann', key, expiresAt: inASecond() })
    const held = [reserve('held'), reserve('held')]
    expect(await reserve('free')).toMatchObject({ key: 'free' })
    const last = reserve('held')
    const keys = ['a', 'b', 'c', 'd']
    expect(await Promise.all(keys.map(reserve))).toMatchObject(keys.map((key) => ({ key })))
    await holder.query('ROLLBACK')
    holder.release()
    const ids = (await Promise.all([...held, last])).map(({ id }) => id)
    expect(await store.find({ bucket: 'bucket', key: 'held' })).toMatchObject({ id: ids[2] })
    expect(await store.checkUsage()).toEqual([])
  })

  it('keep no update and no setUploadId waiting: they change no usage', async () => {
    const { schema, stores, inASecond } = await twoStores()
    const [store] = stores
    const at = (key: string) => ({ bucket: 'bucket', key })
    const reserve = (key: string) =>
      store.reserve({ ...at(key), scope: 'ann', declaredSize: 1, expiresAt: inASecond() })
    const { id } = await reserve('active')
    await store.confirm({ ...at('active'), id, scope: 'ann', size: 1 })
    const pending = await reserve('pending')
    const holder = await pool.connect()
    await holder.query('BEGIN')
    await holder.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = 'ann' FOR UPDATE`)
    const blocked = reserve('blocked')
    const uploadId = 'upload'
    expect(await store.update({ ...at('active'), filename: 'new' })).toMatchObject({ filename: 'new' })
    expect(await store.setUploadId({ ...at('pending'), id: pending.id, uploadId })).toMatchObject({
      uploadId,
    })
    await holder.query('ROLLBACK')
    holder.release()
    await blocked
  })

  it('lock usage rows in the order of scopes if each replaces an expired reservation of the other', async () => {
    const { schema, stores, inASecond, pass } = await twoStores()
    const [one, other] = SCOPES
    await reserveInOneBatch(stores[0], one, ['expired of one'], inASecond())
    await reserveInOneBatch(stores[1], other, ['expired of other'], inASecond())
    pass(2 * SECOND)
    // Inserting a row waits for the end of another transaction that inserts the same id.
    const ids = [createAttemptId(), createAttemptId()] as const
    const held = ids.map((id) => ({ id, key: `held ${id}` }))
    const { release } = await holdUntilBothWait(schema, held, inAnHour())
    const results = await Promise.all([
      reserveInOneBatch(stores[0], one, ['a', { id: ids[0], key: 'b' }, 'expired of other'], inASecond()),
      reserveInOneBatch(stores[1], other, ['c', { id: ids[1], key: 'd' }, 'expired of one'], inASecond()),
      release,
    ])
    expect(codes([...results[0], ...results[1]])).toEqual(Array(6).fill('reserved'))
    expect(await stores[0].checkUsage()).toEqual([])
  })

  it('finish without a deadlock over any keys', async () => {
    const { stores, pass, inASecond } = await twoStores()
    let taken = 0
    for (let round = 0; round < ROUNDS; round++) {
      pass(2 * SECOND)
      const results = await Promise.all([
        reserveInOneBatch(stores[0], SCOPES[round % 2 ? 0 : 1], KEYS, inASecond()),
        reserveInOneBatch(stores[1], SCOPES[round % 2 ? 1 : 0], KEYS.toReversed(), inASecond()),
      ])
      taken += codes(results.flat()).filter((code) => code === 'reserved').length
    }
    expect(taken).toBe(ROUNDS * KEYS.length)
    expect(await stores[0].checkUsage()).toEqual([])
  })
})
