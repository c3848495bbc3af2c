import { cleanUp, createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import type pg from 'pg'
import { expect, it } from 'vitest'
import { ManualClock } from '../../conformance/clock.js'
import { startService } from '../../unit/server/service.js'
import { attempt, BUCKET, errorOf } from './attempt.js'
import {
  describePostgres,
  inTransaction,
  poolOf,
  quoted,
  rowsReadBy,
  schemaOfEachTest,
  untilBlocked,
} from './schemas.js'

const HOUR = 3_600_000
const at = (key: string) => ({ bucket: BUCKET, key })

describePostgres('temporary objects on Postgres', (url) => {
  const pool = poolOf(url)
  let schema: string
  let store: StorageObjectStore
  schemaOfEachTest(pool, async (name) => {
    schema = name
    store = postgresAdapter(pool, { schema })
    await store.migrate()
  })

  /** The store as it is in two hours, when every end has come. */
  const later = (by: pg.Pool | pg.PoolClient = pool) =>
    postgresAdapter(by, { schema, now: () => new Date(Date.now() + 2 * HOUR) })
  const hoursBehind = (hours: number) =>
    postgresAdapter(pool, { schema, now: () => new Date(Date.now() - hours * HOUR) })
  const terms = async () =>
    (await pool.query<{ id: string }>(`SELECT id FROM ${quoted(schema)}.terms`)).rows.map(({ id }) => id)

  /** Creates an object that ends in an hour. */
  async function temporary(key: string, scope = 'ann'): Promise<StorageObject> {
    const { id } = await store.reserve({ ...attempt(key, scope), temporarySeconds: 3600 })
    return store.confirm({ ...at(key), id, size: 5 })
  }
  const ended = async () => (await later().listTemporary()).filter(isTemporary)
  const keysOf = (rows: readonly StorageObject[]) => rows.map(({ key }) => key)

  it('keep their end and terms through every change of the row, and lose both together', async () => {
    const { id, temporaryUntil } = await temporary('a')
    expect(await terms()).toEqual([id])
    const replacement = await store.reserve({ ...attempt('a', 'ann'), temporarySeconds: 1800 })
    await store.update({ ...at('a'), filename: 'a.txt' })
    await store.confirm({ ...at('a'), id: replacement.id, size: 6 })
    expect(await terms()).toEqual([id])
    const moved = await store.transfer({ ...at('a'), from: 'ann', to: 'bob' })
    expect(moved!.temporaryUntil!.getTime()).toBeLessThan(temporaryUntil!.getTime())
    expect(await later().listTemporary({ scope: 'bob' })).toEqual([moved])
    expect(await later().listTemporary({ scope: 'ann' })).toEqual([])
    await store.remove(at('a'))
    expect(await terms()).toEqual([])
    const lapsed = await store.reserve({ ...attempt('b', 'ann'), temporarySeconds: 1 })
    expect(await later().purgeExpired()).toMatchObject([{ id: lapsed.id }])
    expect(await terms()).toEqual([])
  })

  it('and attempts with a check that a slow clock dates are found at once', async () => {
    const upload = async (key: string, terms: { temporarySeconds?: number; checkSeconds?: number }) => {
      const id = createAttemptId()
      await hoursBehind(1).reserve({ ...attempt(key, 'ann'), id, storageKey: `bytes/${id}`, ...terms })
      return hoursBehind(1).confirm({ ...at(key), id, size: 5, eTag: 'e' })
    }
    const found = async (scope?: string) => {
      const arrived = await store.listArrived({ scope, dueBefore: new Date() })
      return keysOf([...(await store.listTemporary({ scope })), ...arrived])
    }
    for (const scope of [undefined, 'ann', 'bob']) expect(await found(scope)).toEqual([])
    await upload('a', { temporarySeconds: 120 })
    for (const scope of [undefined, 'ann']) expect(await found(scope)).toEqual(['a'])
    await upload('b', { temporarySeconds: 86_400 })
    expect(await found()).toEqual(['a'])
    await hoursBehind(1).update({ ...at('b'), temporarySeconds: 60 })
    for (const scope of [undefined, 'ann']) expect(await found(scope)).toEqual(['b', 'a'])
    await hoursBehind(1).transfer({ ...at('b'), from: 'ann', to: 'bob' })
    expect(await found('bob')).toEqual(['b'])
    await upload('c', { checkSeconds: 60 })
    for (const scope of [undefined, 'ann']) expect((await found(scope)).at(-1)).toBe('c')
  })

  it('rejections that a slow clock dates are forgotten as others', async () => {
    const reject = async (key: string, by = store) => {
      const id = createAttemptId()
      await by.reserve({ ...attempt(key, 'ann'), id, storageKey: `bytes/${id}`, checkSeconds: 60 })
      await by.confirm({ ...at(key), id, size: 5, eTag: 'e' })
      await by.reject({ ...at(key), id })
    }
    const remembered = async () => {
      const text = `SELECT key FROM ${quoted(schema)}.rejections ORDER BY key`
      return (await pool.query<{ key: string }>(text)).rows.map(({ key }) => key)
    }
    await reject('new')
    await reject('old', hoursBehind(3))
    expect(await remembered()).toEqual(['new', 'old'])
    await reject('newer')
    expect(await remembered()).toEqual(['new', 'newer'])
    for (const only of [{}, { scope: 'ann' }]) {
      const purge = () => store.purgeDeleted({ ...only, before: new Date(Date.now() - 2 * HOUR) })
      await purge()
      await reject('old', hoursBehind(3))
      expect(await remembered()).toEqual(['new', 'newer', 'old'])
      await purge()
      expect(await remembered()).toEqual(['new', 'newer'])
    }
  })

  it('are left out of lists if a statement from outside the library deletes them', async () => {
    const [, b] = [await temporary('a'), await temporary('b')]
    await pool.query(`DELETE FROM ${quoted(schema)}.objects WHERE key = 'a'`)
    expect(await later().listTemporary({ limit: 1 })).toEqual([b])
  })

  it('are kept by the transaction of the application, or not at all', async () => {
    const [a, b] = [await temporary('a'), await temporary('b')]
    const objects = [a, b].map(({ id }) => ({ id }))
    await inTransaction(pool, async (client) => {
      const [kept] = await postgresAdapter(client, { schema }).keep({ scope: 'ann', objects })
      expect(kept!.temporaryUntil).toBeNull()
      expect(await store.findActive(at('a'))).toEqual(a)
      // The key is held, although its end has come.
      expect(await later().endTemporary({ objects: [a, b].filter(isTemporary) })).toEqual({
        removed: [],
        kept: 2,
      })
    })
    expect(await ended()).toEqual([a, b])
    const client = await pool.connect()
    await client.query('BEGIN')
    await postgresAdapter(client, { schema }).keep({ scope: 'ann', objects })
    await client.query('COMMIT')
    client.release()
    expect(await ended()).toEqual([])
    expect(await terms()).toEqual([])
  })

  it.each(['COMMIT', 'ROLLBACK'])(
    'are missing while the transaction of a form outlasts their end, until its %s',
    async (last) => {
      const { id } = await temporary('a')
      const clock = new ManualClock()
      clock.moveTo(new Date(Date.now() + 2 * HOUR))
      const service = startService({
        ...{ clock, bucket: BUCKET, resolveScope: () => 'ann' },
        objects: postgresAdapter(pool, { schema, now: clock.now }),
      })
      const statusOf = async () => (await service.as('ann').send('GET', '/db/object?key=a')).status
      const client = await pool.connect()
      await client.query('BEGIN')
      await postgresAdapter(client, { schema }).keep({ scope: 'ann', objects: [{ id }] })
      expect(await statusOf()).toBe(404)
      expect((await cleanUp(service.s3)).temporary).toEqual({ removed: 0, kept: 1, failed: 0 })
      await client.query(last)
      client.release()
      const isKept = last === 'COMMIT'
      expect(await statusOf()).toBe(isKept ? 200 : 404)
      expect((await cleanUp(service.s3)).temporary).toMatchObject({ removed: isKept ? 0 : 1, kept: 0 })
      expect(await statusOf()).toBe(isKept ? 200 : 404)
    },
  )

  it('that two calls of keep name in another order make no deadlock', async () => {
    const rows = [await temporary('a'), await temporary('b')]
    const objects = rows.map(({ id }) => ({ id }))
    let second: Promise<unknown> | undefined
    await inTransaction(pool, async (client) => {
      await postgresAdapter(client, { schema }).keep({ scope: 'ann', objects })
      second = store.keep({ scope: 'ann', objects: objects.toReversed() })
      await untilBlocked(pool, schema)
    })
    expect(await second).toMatchObject([{ key: 'b', temporaryUntil: null }, { key: 'a' }])
  })

  it('that are removed while keep waits for their key are missing, and the others stay temporary', async () => {
    const [a, b] = [await temporary('a'), await temporary('b')]
    const client = await pool.connect()
    await client.query('BEGIN')
    await postgresAdapter(client, { schema }).remove(at('a'))
    const keeping = errorOf(store.keep({ scope: 'ann', objects: [{ id: b.id }, { id: a.id }] }))
    await untilBlocked(pool, schema)
    await client.query('COMMIT')
    client.release()
    expect(await keeping).toMatchObject({ code: 'OBJECT_NOT_FOUND', params: { missing: '1' } })
    expect(await ended()).toEqual([b])
  })

  it('that are changed while keep waits for their key are kept as they are then', async () => {
    const objects = [await temporary('a'), await temporary('b')].map(({ id }) => ({ id }))
    const client = await pool.connect()
    await client.query('BEGIN')
    const changes = { filename: 'b.txt', temporarySeconds: 60 }
    await postgresAdapter(client, { schema }).update({ ...at('b'), ...changes })
    const keeping = store.keep({ scope: 'ann', objects })
    await untilBlocked(pool, schema)
    await client.query('COMMIT')
    client.release()
    expect(await keeping).toMatchObject([{ key: 'a' }, { filename: 'b.txt', temporaryUntil: null }])
    expect(await ended()).toEqual([])
    expect(await terms()).toEqual([])
  })

  it.each<[string, (holder: pg.PoolClient) => Promise<unknown>]>([
    ['key', (holder) => postgresAdapter(holder, { schema }).update({ ...at('eve'), filename: 'a.txt' })],
    [
      'row',
      (holder) => holder.query(`SELECT FROM ${quoted(schema)}.objects WHERE scope = 'eve' FOR KEY SHARE`),
    ],
    ['sums', (holder) => postgresAdapter(holder, { schema }).reserve(attempt('another', 'eve'))],
  ])('whose %s a transaction holds are passed over', async (_, hold) => {
    const rows = [await temporary('eve', 'eve'), await temporary('ann')]
    const objects = rows.filter(isTemporary)
    await inTransaction(pool, async (holder) => {
      await hold(holder)
      const { removed, kept } = await later().endTemporary({ objects })
      expect([keysOf(removed), kept]).toEqual([['ann'], 1])
    })
    expect(keysOf((await later().endTemporary({ objects })).removed)).toEqual(['eve'])
    expect(await store.checkUsage()).toEqual([])
  })

  it.each(['soft', 'hard'] as const)('that a foreign key protects are passed over (%s)', async (mode) => {
    const table = `${quoted(schema)}.documents`
    await pool.query(`CREATE TABLE ${table} (file uuid REFERENCES ${quoted(schema)}.objects)`)
    const rows = [await temporary('kept'), await temporary('other')]
    await pool.query(`INSERT INTO ${table} VALUES ($1)`, [rows[0]!.attemptId])
    const { removed, kept } = await later().endTemporary({ objects: rows.filter(isTemporary), mode })
    expect([keysOf(removed), kept]).toEqual([['other'], 1])
    expect(keysOf(await ended())).toEqual(['kept'])
  })

  it('are removed without reading other rows', async () => {
    await Promise.all(Array.from({ length: 300 }, (_, index) => temporary(`other ${index}`)))
    const client = await pool.connect()
    const [first] = await later(client).listTemporary({ limit: 1 })
    const call = (index: number) =>
      later(client).endTemporary({ objects: [{ ...first!, ...at(`${index}`) }] as never })
    // The plan of a first call is made while there are few rows.
    await call(0)
    const read = await rowsReadBy(client, schema, () =>
      later(client).endTemporary({ objects: [first as never] }),
    )
    client.release()
    expect(read).toBeLessThanOrEqual(30)
  })

  it('arrived attempts cost lists of expired reservations nothing', async () => {
    await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const id = createAttemptId()
        const key = `checked ${index}`
        await store.reserve({ ...attempt(key, 'ann'), id, storageKey: `bytes/${id}`, checkSeconds: 60 })
        await store.confirm({ ...at(key), id, size: 5, eTag: 'e' })
      }),
    )
    const client = await pool.connect()
    for (const only of [{}, { scope: 'ann' }]) {
      const read = await rowsReadBy(client, schema, async () => {
        expect(await later(client).listExpired(only)).toEqual([])
        expect(await later(client).purgeExpired(only)).toEqual([])
      })
      expect(read).toBeLessThanOrEqual(10)
    }
    client.release()
  })
})

function isTemporary(row: StorageObject): row is StorageObject & { temporaryUntil: Date } {
  return row.temporaryUntil !== null
}
