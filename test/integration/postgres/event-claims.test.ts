import { createAttemptId, type ListedEvent, type StorageObjectStore, type StoredEvent } from '@svc/db'
import type pg from 'pg'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describeOwnDatabase, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'
import { callsOfVersion15 } from './version-1-5.js'

const BUCKET = 'bucket'
const SCOPE = 'ann'
const SIZE = 10
const at = (key: string) => ({ bucket: BUCKET, key })
const shape = ({ type, object, previous }: Pick<StoredEvent, 'type' | 'object' | 'previous'>) => ({
  type,
  object: object.attemptId,
  previous: previous?.attemptId ?? null,
})

describeOwnDatabase('claims of events on Postgres', (url) => {
  const pool = poolOf(url, { max: 16 })
  let schema: string
  let store: StorageObjectStore
  beforeEach(async () => {
    schema = freshSchema()
    store = postgresAdapter(pool, { schema, events: true })
    await store.migrate()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())

  const old = () => callsOfVersion15(pool, schema)
  const recorded = async () => (await store.listEvents({ limit: 1000 })).items

  async function reserve(key: string) {
    const id = createAttemptId()
    const expiresAt = new Date(Date.now() + 60_000)
    return store.reserve({
      id,
      scope: SCOPE,
      ...at(key),
      declaredSize: SIZE,
      expiresAt,
      metadata: { a: 'b' },
    })
  }
  async function upload(key: string) {
    const { id } = await reserve(key)
    return store.confirm({ ...at(key), id, scope: SCOPE, size: SIZE, eTag: 'e' })
  }

  describe('are delivered', () => {
    it('in the order of the changes of each object, once, while processes of both versions write', async () => {
      const keys = ['1', '2', '3', '4', '5', '6']
      const delivered = new Map<string, ReturnType<typeof shape>[]>(keys.map((key) => [key, []]))
      const inDelivery = new Set<string>()
      let areWriting = true

      async function write(caller: number): Promise<void> {
        for (let round = 0; round < 30; round++) {
          const target = { scope: SCOPE, key: keys[(caller + round) % keys.length]! }
          if (caller % 2 === 0) {
            await old().confirm(await old().reserve(target))
            if (round % 5 === 0) await old().remove(target, round % 10 === 0 ? 'soft' : 'hard')
          } else {
            await upload(target.key).catch(ignoreReplaced)
            if (round % 5 === 0)
              await store.remove({ ...at(target.key), mode: round % 10 === 0 ? 'soft' : 'hard' })
          }
        }
      }
      async function deliver(caller: number): Promise<void> {
        for (let round = 0; ; round++) {
          const wasWriting = areWriting
          const events = await store.claimEvents({ limit: 3, claimSeconds: 3600 })
          for (const { object } of events) {
            expect(inDelivery).not.toContain(object.key)
            inDelivery.add(object.key)
          }
          if (events.length === 0 && !wasWriting && inDelivery.size === 0) return
          const isRetry = (round + caller) % 7 === 0
          for (const event of events) {
            if (!isRetry) delivered.get(event.object.key)!.push(shape(event))
            inDelivery.delete(event.object.key)
          }
          const retryAt = isRetry ? new Date() : undefined
          const settled = await store.settleEvents(events.map(({ id, claim }) => ({ id, claim, retryAt })))
          expect(settled.sort()).toEqual(events.map(({ id }) => id).sort())
        }
      }
      const deliverers = Array.from({ length: 4 }, (_, caller) => deliver(caller))
      await Promise.all(Array.from({ length: 6 }, (_, caller) => write(caller)))
      areWriting = false
      await Promise.all(deliverers)

      expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
      for (const events of delivered.values()) {
        expect(events.length).toBeGreaterThan(0)
        let active: string | null = null
        for (const { type, object, previous } of events) {
          expect(type === 'deleted' ? object : previous).toBe(active)
          active = type === 'deleted' ? null : object
        }
      }
    })

    it('to one of several claims at the same time', async () => {
      for (let key = 0; key < 200; key++)
        await old().confirm(await old().reserve({ scope: SCOPE, key: `${key}` }))
      const claims = await Promise.all(Array.from({ length: 16 }, () => store.claimEvents({ limit: 20 })))
      const rest = await store.claimEvents({ limit: 1000 })
      const ids = [...claims.flat(), ...rest].map(({ id }) => id)
      expect(ids).toHaveLength(200)
      expect(new Set(ids).size).toBe(200)
    })

    it('again after the connection of a claim was ended', async () => {
      await upload('1')
      const client = poolOf(url, { max: 1 })
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      const connection = await client.connect()
      connection.on('error', () => {})
      await connection.query('BEGIN')
      const killed = postgresAdapter(connection, { schema })
      expect(await killed.claimEvents()).toHaveLength(1)
      // Skipped, because the other transaction has it.
      expect(await store.claimEvents()).toEqual([])
      await pool.query('SELECT pg_terminate_backend($1)', [rows[0]!.pid])
      await expect(killed.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      connection.release(true)
      await client.end()
      expect(await store.claimEvents()).toMatchObject([{ attempts: 1 }])
    })

    it('to whoever claims them after the claim has expired', async () => {
      let now = Date.now() + 1000
      const clocked = postgresAdapter(pool, { schema, now: () => new Date(now) })
      await upload('1')
      const [first] = await clocked.claimEvents({ claimSeconds: 10 })
      now += 9_999
      expect(await clocked.claimEvents()).toEqual([])
      expect(await clocked.countEvents()).toEqual({ waiting: 0, claimed: 1, retrying: 0 })
      now += 1
      expect(await clocked.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 1 })
      expect(await clocked.extendClaims([first!], { claimSeconds: 5 })).toEqual([first!.id])
      expect(await clocked.claimEvents()).toEqual([])
      now += 5_000
      const [second] = await clocked.claimEvents()
      expect(second).toMatchObject({ id: first!.id, attempts: 2 })
      expect(await clocked.settleEvents([first!])).toEqual([])
      expect(await clocked.extendClaims([first!])).toEqual([])
      expect(await clocked.settleEvents([second!])).toEqual([second!.id])
    })

    it('by object: the oldest of that object', async () => {
      const first = await upload('1')
      await upload('2')
      const second = await upload('1')
      const [event] = await store.claimEvents(at('1'))
      expect(event!.object).toEqual(first)
      expect(await store.claimEvents(at('1'))).toEqual([])
      await store.settleEvents([event!])
      const [next] = await store.claimEvents(at('1'))
      expect(next!.object).toEqual(second)
      expect(await store.claimEvents(at('none'))).toEqual([])
    })

    it('up to 1000 at once, and settled by as many', async () => {
      await fillWith(1000, 1000)
      const events = await store.claimEvents({ limit: 1000 })
      expect(events).toHaveLength(1000)
      expect(await store.extendClaims(events)).toHaveLength(1000)
      expect(await store.settleEvents(events)).toHaveLength(1000)
      expect(await recorded()).toEqual([])
    })
  })

  it('ignore ids and claims that they could not have', async () => {
    await upload('1')
    const [event] = await store.claimEvents()
    const { id, claim } = event!
    const [number, position] = id.split('.')
    const positions = ['', '0', '-1', '01', '1.5', '1e3', ' 1', 'x', '9223372036854775808', '9'.repeat(50)]
    const ids = [
      ...[
        number!,
        position!,
        `${position}.${number}`,
        `0${number}.${position}`,
        `0.${position}`,
        `-0.${position}`,
      ],
      ...[`-9223372036854775809.${position}`, `9223372036854775807.9223372036854775807`],
      ...positions.map((other) => `${number}.${other}`),
    ]
    const attempts = ['', '0', '-1', '01', 'x', '2', '2147483647', '2147483648', '9'.repeat(50)]
    const claims = [...attempts.map((attempt) => `${position}.${attempt}`), '1', `0.1`, `${number}.1`]
    const entries = ids.map((other) => ({ id: other, claim }))
    expect(await store.settleEvents(entries)).toEqual([])
    expect(await store.extendClaims(entries)).toEqual([])
    for (const other of claims) {
      expect(await store.settleEvents([{ id, claim: other }])).toEqual([])
      expect(await store.extendClaims([{ id, claim: other }])).toEqual([])
    }
    for (const after of [...positions, id]) {
      await expect(store.listEvents({ after })).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
    }
    expect(await store.settleEvents([event!])).toEqual([id])
  })

  it('are listed page by page', async () => {
    for (const key of ['1', '2', '3']) await upload(key)
    const keys = (events: readonly ListedEvent[]) => events.map(({ object }) => object.key)
    const first = await store.listEvents({ limit: 2 })
    expect(keys(first.items)).toEqual(['1', '2'])
    const second = await store.listEvents({ limit: 2, after: first.next! })
    expect(keys(second.items)).toEqual(['3'])
    expect(second.next).toBe(null)
    expect((await store.listEvents({ limit: 3 })).next).toBe(null)
  })

  describe('in large numbers', () => {
    it('cost a claim nothing where they wait behind an older one, are claimed or are due later', async () => {
      await fillWith(1000, 1000)
      const few = await buffersOfClaim()
      await fillWith(100_000, 1)
      await pool.query(
        `UPDATE ${quoted(schema)}.events SET due_at = '2000-01-01' WHERE object LIKE '%"key 0"%'`,
      )
      expect(await buffersOfClaim()).toBeLessThan(few * 1.3)
      await pool.query(
        `UPDATE ${quoted(schema)}.events SET due_at = '2100-01-01', is_claimed = true WHERE id % 2 = 0`,
      )
      await pool.query(`VACUUM ${quoted(schema)}.events`)
      expect(await buffersOfClaim()).toBeLessThan(few * 1.3)
    })

    it('are neither scanned nor sorted by plans that were made while there were none', async () => {
      const own = poolOf(url, { max: 1 })
      const client = await own.connect()
      const table = `${quoted(schema)}.events`
      const mine = postgresAdapter(client, { schema })
      const deliver = async (reference?: ReturnType<typeof at>) => {
        const events = await mine.claimEvents({ limit: 3, ...reference })
        await mine.extendClaims(events)
        await mine.settleEvents(events.map(({ id, claim }) => ({ id, claim, retryAt: new Date() })))
        await mine.settleEvents(await mine.claimEvents({ limit: 3, ...reference }))
      }
      const record = () => mine.remove({ ...at('1'), mode: 'hard' })
      try {
        await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
        await client.query(`VACUUM ANALYZE ${table}`)
        for (let round = 0; round < 8; round++) {
          await upload('1')
          await record()
          await deliver()
          await deliver(at('1'))
        }
        await fillWith(20_000, 1000)
        await upload('1')
        const read = [await rowsReadBy(client, record), await rowsReadBy(client, () => deliver(at('1')))]
        read.push(await rowsReadBy(client, () => deliver()))
        expect(Math.max(...read)).toBeLessThan(60)
      } finally {
        client.release()
        await own.end()
      }
    })

    it('are vacuumed by number, not by share', async () => {
      const { rows } = await pool.query<{ reloptions: string[] }>(
        'SELECT reloptions FROM pg_class WHERE oid = $1::regclass',
        [`${quoted(schema)}.events`],
      )
      expect(rows[0]!.reloptions).toEqual([
        'autovacuum_vacuum_scale_factor=0',
        'autovacuum_vacuum_threshold=10000',
      ])
    })
  })

  /** Records events of `objects` objects by hand. */
  async function fillWith(events: number, objects: number): Promise<void> {
    await upload('sample')
    const table = `${quoted(schema)}.events`
    await pool.query(
      `WITH sample AS (DELETE FROM ${table} WHERE object LIKE '%"sample"%' RETURNING object)
       INSERT INTO ${table} (object_digest, object_number, type, is_first, created_at, due_at, object)
       SELECT md5((g % $2)::text)::uuid, g % $2, 'activated', g < $2, timestamptz '2001-01-01', timestamptz '2001-01-01',
         replace(s.object, '"sample"', '"key ' || g % $2 || '"')
       FROM sample s, generate_series(0, $1::bigint - 1) g`,
      [events, objects],
    )
  }

  /** Returns how many rows of events the call reads, by scans and by indexes. */
  async function rowsReadBy(client: pg.PoolClient, call: () => Promise<unknown>): Promise<number> {
    const read = async () => {
      const { rows } = await client.query<{ read: number }>(
        `SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read
         FROM pg_stat_xact_user_tables WHERE schemaname = $1 AND relname = 'events'`,
        [schema],
      )
      return rows[0]!.read
    }
    await client.query('BEGIN')
    const before = await read()
    await call()
    const after = await read()
    await client.query('COMMIT')
    return after - before
  }

  /** Returns how many pages a claim of 100 events reads, in a transaction that is rolled back. */
  async function buffersOfClaim(): Promise<number> {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const explain = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
        SELECT * FROM ${quoted(schema)}.claim_events_v1(NULL, NULL, 100, now(), now() + interval '1 minute')`
      // The first call also reads the catalog.
      await client.query(explain)
      await client.query('ROLLBACK; BEGIN')
      const { rows } = await client.query<ExplainedRow>(explain)
      await client.query('ROLLBACK')
      const plan = rows[0]!['QUERY PLAN'][0]!.Plan
      expect(plan['Actual Rows']).toBe(100)
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    } finally {
      client.release()
    }
  }
})

interface ExplainedRow extends pg.QueryResultRow {
  readonly 'QUERY PLAN': readonly {
    readonly Plan: Readonly<Record<'Actual Rows' | 'Shared Hit Blocks' | 'Shared Read Blocks', number>>
  }[]
}

/** Another writer may have replaced the attempt meanwhile. */
function ignoreReplaced(error: unknown): void {
  expect(error).toMatchObject({ code: 'OBJECT_NOT_FOUND' })
}
