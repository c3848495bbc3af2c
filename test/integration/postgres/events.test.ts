import { createAttemptId, type StorageObject, type StorageObjectStore, type StoredEvent } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { attempt, BUCKET } from './attempt.js'
import {
  describeOwnDatabase,
  inTransaction,
  poolOf,
  quoted,
  rowsReadBy,
  schemaOfEachTest,
} from './schemas.js'

const at = (key: string) => ({ bucket: BUCKET, key })

// The conformance suite tests what is recorded and claimed, and races.long.test.ts claims in several processes.
describeOwnDatabase('events on Postgres', (url) => {
  const pool = poolOf(url)
  let schema: string
  let store: StorageObjectStore
  schemaOfEachTest(pool, async (name) => {
    schema = name
    store = postgresAdapter(pool, { schema, events: true })
    await store.migrate()
  })

  async function upload(key: string, by = store): Promise<StorageObject> {
    const { id, scope } = await by.reserve({ ...attempt(key), metadata: { a: 'b' } })
    return by.confirm({ ...at(key), id, scope, size: 5 })
  }

  it('are recorded with the change or not at all', async () => {
    await inTransaction(pool, async (client) => {
      const undone = postgresAdapter(client, { schema })
      await upload('1', undone)
      expect((await undone.listEvents()).items).toHaveLength(1)
    })
    expect((await store.listEvents()).items).toEqual([])
  })

  it('are claimed again after the connection of a claim was ended', async () => {
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

  it('of a release whose rows had fewer columns are read with null', async () => {
    const object = await upload('1')
    await store.remove({ ...at('1'), mode: 'soft' })
    const withoutLast = (column: string) => `(${column}::jsonb - 19)::text`
    await pool.query(
      `UPDATE ${quoted(schema)}.events SET object = ${withoutLast('object')}, previous = ${withoutLast('previous')}`,
    )
    const { items } = await store.listEvents()
    expect(items.map((event) => event.object.deletedAt)).toEqual([null, null])
    expect(items[0]!.object).toStrictEqual(object)
  })

  it('ignore ids and claims that they could not have', async () => {
    await upload('1')
    const [event] = await store.claimEvents()
    const { id, claim } = event!
    const [number, position] = id.split('.')
    const positions = ['', '0', '-1', '01', '1.5', '1e3', ' 1', 'x', '9223372036854775808', '9'.repeat(50)]
    const ids = [
      ...[number!, position!, `${position}.${number}`, `9223372036854775807.9223372036854775807`],
      ...[`0${number}`, '0', '-0', '-9223372036854775809'].map((other) => `${other}.${position}`),
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

  it('are settled while a transaction holds the key of another one', async () => {
    await upload('held')
    await upload('free')
    const events = await store.claimEvents()
    const idOf = (key: string) => events.find(({ object }) => object.key === key)!.id
    await inTransaction(pool, async (client) => {
      await postgresAdapter(client, { schema }).update({ ...at('held'), filename: 'b.txt' })
      expect(await store.settleEvents(events)).toEqual([idOf('free')])
      await expect(store.settleEvents(events)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    })
    expect(await store.settleEvents(events)).toEqual([idOf('held')])
  })

  it('that were settled before the database failed are returned', async () => {
    const keys = Array.from({ length: 201 }, (_, index) => `many/${index}`)
    await Promise.all(keys.map((key) => upload(key)))
    const events: StoredEvent[] = []
    while (events.length < keys.length) events.push(...(await store.claimEvents()))
    const last = events[200]!
    const impatient = poolOf(url, { statement_timeout: 2000 })
    await inTransaction(pool, async (client) => {
      await postgresAdapter(client, { schema }).update({ ...at(last.object.key), filename: 'b.txt' })
      const settled = await postgresAdapter(impatient, { schema }).settleEvents(events)
      expect(settled).toEqual(events.slice(0, 200).map(({ id }) => id))
    })
    await impatient.end()
    expect(await store.settleEvents(events)).toEqual([last.id])
  })

  it('and leftovers of ends and checks that a slow clock dates are found at once', async () => {
    const behind = (minutes: number) =>
      postgresAdapter(pool, { schema, now: () => new Date(Date.now() - minutes * 60_000) })
    const [hourBehind, lessBehind] = [behind(60), behind(30)]
    /** Returns what is new, and settles it. The last looks find nothing, so the next ones need not start any earlier. */
    const found = async () => {
      const events = await store.claimEvents()
      await store.settleEvents(events)
      const leftovers = await store.listLeftovers()
      for (const { attemptId } of leftovers) await store.forgetLeftover({ attemptId })
      expect([...(await store.claimEvents()), ...(await store.listLeftovers())]).toEqual([])
      return [...events.map(({ type }) => type), ...leftovers.map(() => 'leftover')]
    }
    const upload = async (key: string, terms: { temporarySeconds?: number; checkSeconds?: number }) => {
      const id = createAttemptId()
      await hourBehind.reserve({ ...attempt(key), id, storageKey: `bytes/${id}`, ...terms })
      return hourBehind.confirm({ ...at(key), id, size: 5, eTag: 'e' })
    }
    expect(await found()).toEqual([])
    const { scope, id } = await upload('kept', { temporarySeconds: 60 })
    expect(await found()).toEqual(['activated'])
    await hourBehind.keep({ scope, objects: [{ id }] })
    expect(await found()).toEqual(['updated'])
    await upload('ended', { temporarySeconds: 60 })
    expect(await found()).toEqual(['activated'])
    await lessBehind.endTemporary({ objects: await lessBehind.listTemporary() })
    expect(await found()).toEqual(['deleted', 'leftover'])
    const arrived = await upload('checked', { checkSeconds: 60 })
    expect(await found()).toEqual(['arrived'])
    await hourBehind.reject({ ...at('checked'), id: arrived.id })
    expect(await found()).toEqual(['rejected', 'leftover'])
  })

  describe('in large numbers', () => {
    it('cost a claim nothing where they wait behind an older one, are claimed or are due later', async () => {
      await fillWith(1000, 1000)
      const few = await buffersOfClaim()
      await fillWith(100_000, 1)
      await pool.query(
        `UPDATE ${quoted(schema)}.events SET due_at = '2000-01-01' WHERE object LIKE '%"key 0"%'`,
      )
      expect(await buffersOfClaim()).toBeLessThan(few * 1.4)
      await pool.query(
        `UPDATE ${quoted(schema)}.events SET due_at = '2100-01-01', is_claimed = true WHERE id % 2 = 0`,
      )
      await pool.query(`VACUUM ${quoted(schema)}.events`)
      expect(await buffersOfClaim()).toBeLessThan(few * 1.4)
    })

    it.each([
      ['never claimed', 'false', 1],
      ['claimed before', 'true', 0],
    ])('cost a claim nothing unless they were %s, if it asks for these', async (_, attempted, attempts) => {
      await fillWith(1000, 1000)
      const few = await buffersOfClaim()
      await fillWith(20_000, 20_000)
      const table = `${quoted(schema)}.events`
      await pool.query(`UPDATE ${table} SET due_at = '2000-01-01', attempts = $1`, [attempts])
      await pool.query(
        `UPDATE ${table} SET due_at = '2020-01-01', attempts = 1 - attempts WHERE object LIKE '%"key 1__"%'`,
      )
      await pool.query(`VACUUM ${table}`)
      expect(await buffersOfClaim(attempted)).toBeLessThan(few * 1.4)
      // A claim of both kinds locks as many of each as it may return.
      expect(await buffersOfClaim()).toBeLessThan(few * 2)
    })

    it('are neither scanned nor sorted by plans that were made while there were none', async () => {
      const own = poolOf(url, { max: 1 })
      const client = await own.connect()
      const table = `${quoted(schema)}.events`
      const mine = postgresAdapter(client, { schema })
      const deliver = async (reference?: ReturnType<typeof at>) => {
        const events = [
          ...(await mine.claimEvents({ limit: 2, ...reference, attempted: false })),
          ...(await mine.claimEvents({ limit: 1, ...reference })),
        ]
        await mine.extendClaims(events)
        await mine.settleEvents(events.map(({ id, claim }) => ({ id, claim, retryAt: new Date() })))
        await mine.settleEvents(await mine.claimEvents({ limit: 3, ...reference, attempted: true }))
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
        for (const call of [record, () => deliver(at('1')), () => deliver()]) {
          expect(await rowsReadBy(client, schema, call)).toBeLessThan(60)
        }
      } finally {
        client.release()
        await own.end()
      }
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

  /** Returns how many pages a claim of 100 events reads, in a transaction that is rolled back. */
  async function buffersOfClaim(attempted = 'NULL'): Promise<number> {
    const explain = `EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)
      SELECT * FROM ${quoted(schema)}.claim_events_v1(NULL, NULL, ${attempted}, 100, now(), now() + interval '1 minute', NULL, '-infinity', '-infinity')`
    let buffers = 0
    await inTransaction(pool, async (client) => {
      // The first call also reads the catalog.
      await client.query(explain)
      await client.query('ROLLBACK; BEGIN')
      const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(explain)
      const [{ Plan: plan }] = rows[0]!['QUERY PLAN']
      // One more tells their order.
      expect(plan['Actual Rows']).toBe(101)
      buffers = plan['Shared Hit Blocks']! + plan['Shared Read Blocks']!
    })
    return buffers
  }
})
