import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { afterAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { settableClock } from '../../unit/core/settable-clock.js'
import { describeOwnDatabase, freshSchema, inTransaction, poolOf, quoted, untilBlocked } from './schemas.js'

interface Attempt {
  readonly key: string
  readonly id?: string
}
const SCOPES = ['scope 1', 'scope 2'] as const
const ATTEMPTS: Attempt[] = Array.from({ length: 40 }, (_, i) => ({ key: `${i}` }))
const ROUNDS = 15
const SECOND = 1000
const inAnHour = () => new Date(Date.now() + 3600 * SECOND)

describeOwnDatabase('concurrent batches of two scopes over the same keys', (url) => {
  const pool = poolOf(url)
  afterAll(() => pool.end())

  /** Creates two stores. Each has its own batcher, like two processes. */
  async function twoStores() {
    const schema = freshSchema()
    const clock = settableClock()
    const stores = SCOPES.map(() => postgresAdapter(pool, { schema, now: clock.now }))
    await stores[0]!.migrate()
    const inASecond = () => new Date(clock.now().getTime() + SECOND)
    return {
      schema,
      stores: stores as [StorageObjectStore, StorageObjectStore],
      inASecond,
      pass: (milliseconds: number) => clock.advance(milliseconds),
    }
  }

  /** Reserves all keys in one batch. Two earlier calls of the scope are in flight, so these calls wait and collect. */
  async function reserveInOneBatch(
    store: StorageObjectStore,
    scope: string,
    attempts: readonly Attempt[],
    expiresAt: Date,
  ): Promise<PromiseSettledResult<StorageObject>[]> {
    const reserve = (attempt: Attempt) =>
      store.reserve({ scope, bucket: 'bucket', declaredSize: 1, expiresAt, ...attempt })
    const inFlight = ['first', 'second'].map((key) => reserve({ key: `${scope} ${key}` }))
    const rest = Promise.allSettled(attempts.map(reserve))
    await Promise.all(inFlight)
    return rest
  }

  const codes = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.map((result) =>
      result.status === 'fulfilled' ? 'reserved' : (result.reason as { code: string }).code,
    )

  it('answer writes of other keys while a transaction of another scope holds one', async () => {
    const { schema, stores, inASecond } = await twoStores()
    const [store] = stores
    const attempt = { bucket: 'bucket', key: 'held', declaredSize: 1 }
    const reserve = (key: string) => store.reserve({ ...attempt, scope: 'ann', key, expiresAt: inASecond() })
    const held: Promise<StorageObject>[] = []
    await inTransaction(pool, async (holder) => {
      await postgresAdapter(holder, { schema }).reserve({ ...attempt, scope: 'eve', expiresAt: inAnHour() })
      held.push(reserve('held'), reserve('held'))
      expect(await reserve('free')).toMatchObject({ key: 'free' })
      held.push(reserve('held'))
      const keys = ['a', 'b', 'c', 'd']
      expect(await Promise.all(keys.map(reserve))).toMatchObject(keys.map((key) => ({ key })))
    })
    const ids = (await Promise.all(held)).map(({ id }) => id)
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
    let blocked: Promise<unknown> | undefined
    await inTransaction(pool, async (holder) => {
      await holder.query(`SELECT 1 FROM ${quoted(schema)}.scope_usage WHERE scope = 'ann' FOR UPDATE`)
      blocked = reserve('blocked')
      const upload = { ...at('pending'), id: pending.id, uploadId: 'upload' }
      expect(await store.update({ ...at('active'), filename: 'new' })).toMatchObject({ filename: 'new' })
      expect(await store.setUploadId(upload)).toMatchObject({ uploadId: 'upload' })
    })
    await blocked
  })

  it('lock usage rows in the order of scopes if each replaces an expired reservation of the other', async () => {
    const { schema, stores, inASecond, pass } = await twoStores()
    const [one, other] = SCOPES
    const expired = [{ key: 'expired of one' }, { key: 'expired of other' }] as const
    await reserveInOneBatch(stores[0], one, [expired[0]], inASecond())
    await reserveInOneBatch(stores[1], other, [expired[1]], inASecond())
    pass(2 * SECOND)
    // Inserting a row waits for the end of another transaction that inserts the same id.
    const ids = [createAttemptId(), createAttemptId()] as const
    const held = ids.map((id) => ({ id, key: `held ${id}` }))
    const batches: Promise<PromiseSettledResult<StorageObject>[]>[] = []
    await inTransaction(pool, async (holder) => {
      const holding = postgresAdapter(holder, { schema })
      for (const attempt of held) {
        const input = { scope: 'holder', bucket: 'bucket', declaredSize: 1, expiresAt: inAnHour() }
        await holding.reserve({ ...input, ...attempt })
      }
      batches.push(
        reserveInOneBatch(stores[0], one, [{ key: 'a' }, { id: ids[0], key: 'b' }, expired[1]], inASecond()),
        reserveInOneBatch(
          stores[1],
          other,
          [{ key: 'c' }, { id: ids[1], key: 'd' }, expired[0]],
          inASecond(),
        ),
      )
      await untilBlocked(pool, schema, 2)
    })
    expect(codes((await Promise.all(batches)).flat())).toEqual(Array(6).fill('reserved'))
    expect(await stores[0].checkUsage()).toEqual([])
  })

  it('finish without a deadlock over any keys', async () => {
    const { stores, pass, inASecond } = await twoStores()
    let taken = 0
    for (let round = 0; round < ROUNDS; round++) {
      pass(2 * SECOND)
      const results = await Promise.all([
        reserveInOneBatch(stores[0], SCOPES[round % 2 ? 0 : 1], ATTEMPTS, inASecond()),
        reserveInOneBatch(stores[1], SCOPES[round % 2 ? 1 : 0], ATTEMPTS.toReversed(), inASecond()),
      ])
      taken += codes(results.flat()).filter((code) => code === 'reserved').length
    }
    expect(taken).toBe(ROUNDS * ATTEMPTS.length)
    expect(await stores[0].checkUsage()).toEqual([])
  })
})
