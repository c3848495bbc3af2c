import { createAttemptId, type StorageObjectStore, type StoredEvent } from '@svc/db'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'
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

describePostgres('events on Postgres are recorded', (url) => {
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

  /** Settles events until none is due. Returns them in the order of their delivery. */
  async function deliverAll(limit?: number): Promise<StoredEvent[]> {
    const delivered: StoredEvent[] = []
    for (;;) {
      const events = await store.claimEvents({ limit })
      if (events.length === 0) return delivered
      await store.settleEvents(events)
      delivered.push(...events)
    }
  }

  it('with both versions of the row, once per change', async () => {
    const first = await upload('1')
    const second = await upload('1')
    // A repeat changes nothing.
    await store.confirm({ ...at('1'), id: second.attemptId, scope: SCOPE, size: SIZE, eTag: 'e' })
    const removed = await store.remove({ ...at('1'), scope: SCOPE })
    const third = await upload('1')
    const gone = await store.remove({ ...at('1'), scope: SCOPE, mode: 'hard' })
    await reserve('1')
    await store.remove({ ...at('1'), scope: SCOPE })

    const events = await deliverAll()
    expect(events.map(({ type, object, previous }) => ({ type, object, previous }))).toEqual([
      { type: 'activated', object: first, previous: null },
      { type: 'activated', object: second, previous: first },
      { type: 'deleted', object: removed, previous: null },
      { type: 'activated', object: third, previous: null },
      { type: 'deleted', object: gone, previous: null },
    ])
    expect(removed!.status).toBe('deleted')
    expect(gone).toEqual(third)
  })

  it('at the time of the clock of the process, also for a row that is gone', async () => {
    const now = new Date('2031-02-03T04:05:06.789Z')
    const later = postgresAdapter(pool, { schema, now: () => now })
    await upload('1')
    await later.remove({ ...at('1'), scope: SCOPE, mode: 'hard' })
    await upload('1')
    const [, removed] = await recorded()
    expect(removed).toMatchObject({ type: 'deleted', createdAt: now, dueAt: now })
  })

  it('of each confirm in a batch', async () => {
    const attempts = await Promise.all(Array.from({ length: 20 }, (_, key) => reserve(`${key}`)))
    const confirmed = await Promise.all(
      attempts.map(({ key, id }) => store.confirm({ ...at(key), id, scope: SCOPE, size: SIZE })),
    )
    const byKey = (a: { key: string }, b: { key: string }) => (a.key < b.key ? -1 : 1)
    const events = await recorded()
    expect(events.map(({ object }) => object).sort(byKey)).toEqual(confirmed.sort(byKey))
  })

  it('of processes of version 1.5, by each of their calls', async () => {
    const calls = old()
    const first = await calls.reserve({ scope: SCOPE, key: '1' })
    await calls.confirm(first)
    const second = await upload('1')
    const third = await calls.reserve({ scope: SCOPE, key: '1' })
    const other = await calls.reserve({ scope: SCOPE, key: '2' })
    await calls.confirmBatch([third, other])
    await calls.remove({ scope: SCOPE, key: '1' })
    await calls.remove({ scope: SCOPE, key: '2' }, 'hard')
    await calls.purgeDeleted()
    await calls.reserve({ scope: SCOPE, key: '3' }, '2020-01-01')
    await calls.purgeExpired()

    const events = await deliverAll()
    const of = (wanted: string) => events.filter(({ object }) => object.key === wanted).map(shape)
    expect(of('1')).toEqual([
      { type: 'activated', object: first.id, previous: null },
      { type: 'activated', object: second.attemptId, previous: first.id },
      { type: 'activated', object: third.id, previous: second.attemptId },
      { type: 'deleted', object: third.id, previous: null },
    ])
    expect(of('2')).toEqual([
      { type: 'activated', object: other.id, previous: null },
      { type: 'deleted', object: other.id, previous: null },
    ])
    expect(events).toHaveLength(6)
  })

  it('with the change or not at all', async () => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const inTransaction = postgresAdapter(client, { schema })
      const { id } = await reserve('1')
      await inTransaction.confirm({ ...at('1'), id, scope: SCOPE, size: SIZE })
      expect((await inTransaction.listEvents()).items).toHaveLength(1)
      await client.query('ROLLBACK')
    } finally {
      client.release()
    }
    expect(await recorded()).toEqual([])
  })
})
