import { randomBytes } from 'node:crypto'
import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, freshSchema, poolOf } from './setup.js'

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

describePostgres('batches of two scopes over the same keys', (serverUrl) => {
  // Of its own, because deadlocks are counted by database, and other tests make some.
  const name = `lane_${randomBytes(6).toString('hex')}`
  const url = new URL(`/${name}`, serverUrl).href
  const server = poolOf(serverUrl, { max: 1 })
  const pool = poolOf(url)
  let deadlocks = 0
  beforeAll(async () => {
    await server.query(`CREATE DATABASE ${name}`)
  })
  afterAll(async () => {
    await pool.end()
    await server.query(`DROP DATABASE ${name}`)
    await server.end()
  })

  /** Two stores, each with lanes of its own, as two processes have. */
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

  /** All in one batch, where nobody else is in the lane: two calls go ahead, and these wait for them. */
  async function reserveInOneBatch(
    store: StorageObjectStore,
    scope: string,
    keys: readonly (string | Attempt)[],
    expiresAt: Date,
  ): Promise<PromiseSettledResult<StorageObject>[]> {
    const reserve = (attempt: string | Attempt) =>
      store.reserve({ scope, bucket: 'bucket', declaredSize: 1, expiresAt, ...attemptOf(attempt) })
    const ahead = [reserve(`${scope} ahead`), reserve(`${scope} ahead, too`)]
    const rest = Promise.allSettled(keys.map(reserve))
    await Promise.all(ahead)
    return rest
  }

  /** Holds the keys and ids of these attempts, which are never made, until both batches wait. */
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

  /** Since this was asked last. */
  async function expectNoDeadlock(): Promise<void> {
    // Postgres tells of a deadlock when the session has been idle for a moment.
    await new Promise((resolve) => setTimeout(resolve, SECOND))
    const { rows } = await pool.query<{ deadlocks: string }>(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    )
    const before = deadlocks
    deadlocks = Number(rows[0]!.deadlocks)
    expect(deadlocks - before).toBe(0)
  }

  const codes = (results: readonly PromiseSettledResult<unknown>[]) =>
    results.map((result) =>
      result.status === 'fulfilled' ? 'reserved' : (result.reason as { code: string }).code,
    )

  it('lock keys in an order of their own, not in that of the calls', async () => {
    const { schema, stores, inASecond } = await twoStores()
    const { release } = await holdUntilBothWait(schema, [{ key: 'middle' }], inAnHour())
    const keys = ['a', 'b', 'c', 'middle', 'd', 'e', 'f']
    const results = await Promise.all([
      reserveInOneBatch(stores[0], SCOPES[0], keys, inASecond()),
      reserveInOneBatch(stores[1], SCOPES[1], keys.toReversed(), inASecond()),
      release,
    ])
    // Whoever has the first key has all of them.
    const outcomes = [new Set(codes(results[0])), new Set(codes(results[1]))]
    expect(outcomes).toContainEqual(new Set(['reserved']))
    expect(outcomes).toContainEqual(new Set(['KEY_CONFLICT']))
    await expectNoDeadlock()
  })

  it('lock usage rows in the order of scopes where each takes what lapsed of the other', async () => {
    const { schema, stores, inASecond, pass } = await twoStores()
    const [one, other] = SCOPES
    await reserveInOneBatch(stores[0], one, ['lapsed of one'], inASecond())
    await reserveInOneBatch(stores[1], other, ['lapsed of other'], inASecond())
    pass(2 * SECOND)
    // Whoever makes a row with an id that somebody else is just using waits to see what comes of that.
    const ids = [createAttemptId(), createAttemptId()] as const
    const held = ids.map((id) => ({ id, key: `held ${id}` }))
    const { release } = await holdUntilBothWait(schema, held, inAnHour())
    const results = await Promise.all([
      reserveInOneBatch(stores[0], one, ['a', { id: ids[0], key: 'b' }, 'lapsed of other'], inASecond()),
      reserveInOneBatch(stores[1], other, ['c', { id: ids[1], key: 'd' }, 'lapsed of one'], inASecond()),
      release,
    ])
    expect(codes([...results[0], ...results[1]])).toEqual(Array(6).fill('reserved'))
    expect(await stores[0].checkUsage()).toEqual([])
    await expectNoDeadlock()
  })

  it('come to an end whatever they want', async () => {
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
    await expectNoDeadlock()
  })
})
