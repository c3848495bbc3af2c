import { afterAll, describe, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { sqliteAdapter, type SqliteDatabase } from '@svc/db/sqlite'
import { databaseFolder } from './files.js'

const folder = databaseFolder()
afterAll(() => folder.drop())

const MINUTE = 60_000
const LATER = new Date('2100-01-01')

const attempt = {
  ...{ scope: 'ann', bucket: 'b', key: 'k', declaredSize: 3, expiresAt: new Date('2100-01-01') },
}

async function opened(options = {}) {
  const path = await folder.migratedPath(false)
  const database = folder.handle(path)
  return { path, database, store: sqliteAdapter(database, options) }
}

/** Stores objects that have an end, and uploads that wait for their check. */
async function storeWaiting(store: StorageObjectStore, count: number): Promise<void> {
  for (let index = 0; index < count; index++) {
    const input = { ...attempt, metadata: { text: 'x'.repeat(900) } }
    for (const [key, terms] of [
      [`temporary ${index}`, { temporarySeconds: 60 }],
      [`checked ${index}`, { checkSeconds: 3600 }],
    ] as const) {
      const { id } = await store.reserve({ ...input, ...terms, key, storageKey: key })
      await store.confirm({ bucket: 'b', key, id, size: 3 })
    }
  }
}

/** Reads everything that a call for these changes. */
async function readWaiting(store: StorageObjectStore) {
  const [temporary, arrived] = [await store.listTemporary({ before: LATER }), await store.listArrived()]
  const { waiting } = await store.countEvents()
  return {
    temporary,
    arrived,
    waiting,
    leftovers: await store.listLeftovers(),
    usage: await store.checkUsage(),
  }
}

describe('sqliteAdapter()', () => {
  it('refuses what is no handle, and invalid options', () => {
    for (const handle of [null, 'data.db', {}, { prepare() {}, exec() {}, execAsync() {} }]) {
      expect(() => sqliteAdapter(handle as unknown as SqliteDatabase)).toThrow(/must be a DatabaseSync/)
    }
    const database = folder.handle(':memory:')
    for (const tablePrefix of ['', '1a', 'sqlite_', 'a-b', 'a'.repeat(41), 7]) {
      expect(() => sqliteAdapter(database, { tablePrefix: tablePrefix as string })).toThrow(/tablePrefix/)
    }
    expect(() => sqliteAdapter(database, { prefix: 'x' } as object)).toThrow(/unknown option "prefix"/)
  })

  it('works in memory, with several prefixes, and whatever the handle returns by default', async () => {
    const database = folder.handle(':memory:')
    database.defaultSafeIntegers(true)
    const [one, two] = [{}, { tablePrefix: 'two_' }].map((options) => sqliteAdapter(database, options))
    await one!.migrate()
    await two!.migrate()
    const { id } = await one!.reserve(attempt)
    await one!.confirm({ bucket: 'b', key: 'k', id, size: 3 })
    expect(await one!.getScopeUsage('ann')).toMatchObject({ bytes: 3, files: 1 })
    expect(await two!.countByScope('ann')).toBe(0)
    expect(await two!.verify()).toEqual([])
  })
})

describe('migrate()', () => {
  it('creates the tables once, also at the same time, and sets the write-ahead log and nothing else', async () => {
    const path = folder.newPath()
    const handles = [1, 2, 3].map(() => folder.handle(path))
    handles[0]!.pragma('synchronous = NORMAL')
    const results = await Promise.all(handles.map((handle) => sqliteAdapter(handle).migrate()))
    expect(results).toEqual([
      { from: 0, to: 1 },
      { from: 1, to: 1 },
      { from: 1, to: 1 },
    ])
    expect(handles[0]!.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(handles[0]!.pragma('synchronous', { simple: true })).toBe(1)
    expect(handles[0]!.pragma('user_version', { simple: true })).toBe(0)
  })

  it('restores a missing index, and reports what differs', async () => {
    const { database, store } = await opened()
    expect(await store.verify()).toEqual([])
    database.exec(
      `DROP INDEX svc_db_objects_id; DROP INDEX svc_db_objects_by_scope;
       CREATE INDEX svc_db_objects_by_scope ON svc_db_objects (scope)`,
    )
    const differs = expect.stringMatching(/^Differs: the index svc_db_objects_by_scope must be /) as string
    expect(await store.verify()).toEqual(['Missing: the index svc_db_objects_id. Run migrate().', differs])
    await store.migrate()
    expect(await store.verify()).toEqual([differs])
  })

  it('works beside tables of a later version, unless they require later code', async () => {
    const { path, database, store } = await opened()
    database.exec(
      'ALTER TABLE svc_db_objects ADD COLUMN later TEXT; UPDATE svc_db_schema_version SET version = 2',
    )
    expect(await store.verify()).toEqual([])
    expect(await store.migrate()).toEqual({ from: 2, to: 2 })
    await store.reserve(attempt)
    database.exec('UPDATE svc_db_schema_version SET min_compatible = 2')
    const refusal = {
      code: 'DATABASE_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('requires code of version 2') as string,
    }
    await expect(store.migrate()).rejects.toMatchObject(refusal)
    await expect(folder.open(path).reserve(attempt)).rejects.toMatchObject(refusal)
    expect(await store.verify()).toEqual([refusal.message])
  })

  it('refuses calls before it, and tables of an earlier version', async () => {
    const store = folder.open(folder.newPath())
    const refusal = {
      code: 'DATABASE_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('Run migrate()') as string,
    }
    await expect(store.reserve(attempt)).rejects.toMatchObject(refusal)
    await expect(store.getScopeUsage('ann')).rejects.toMatchObject(refusal)
    await store.ping()
    const { path, database } = await opened()
    database.exec('UPDATE svc_db_schema_version SET version = 0')
    await expect(folder.open(path).claimEvents()).rejects.toMatchObject(refusal)
  })
})

describe('verify()', () => {
  it('reports synchronous OFF and another journal', async () => {
    const { database, store } = await opened()
    database.pragma('synchronous = OFF')
    expect(await store.verify()).toEqual([expect.stringContaining('synchronous is OFF')])
    database.pragma('synchronous = FULL')
    database.pragma('journal_mode = DELETE')
    expect(await store.verify()).toEqual([expect.stringContaining('journal mode must be wal (got delete)')])
    await store.reserve(attempt)
    await store.migrate()
    expect(await store.verify()).toEqual([])
  })
})

describe('a file that refuses a write', () => {
  it('because it is full: nothing is half done, and it works again later', async () => {
    const { database, store } = await opened()
    const pages = database.pragma('page_count', { simple: true }) as number
    database.pragma(`max_page_count = ${pages}`)
    const fill = async () => {
      for (let index = 0; index < 1000; index++) await store.reserve({ ...attempt, key: `key ${index}` })
    }
    await expect(fill()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('disk is full') as string,
    })
    expect(await store.checkUsage()).toEqual([])
    expect(database.inTransaction).toBe(false)
    database.pragma('max_page_count = 1000000')
    await store.reserve(attempt)
  })

  it('because it is full: no object of a call is kept, ends or is rejected', async () => {
    const path = await folder.migratedPath(true)
    const database = folder.handle(path)
    let now = new Date()
    const store = sqliteAdapter(database, { now: () => now })
    await storeWaiting(store, 50)
    const pages = database.pragma('page_count', { simple: true }) as number
    database.pragma(`max_page_count = ${pages}`)
    const { temporary, arrived } = await readWaiting(store)
    expect([temporary.length, arrived.length]).toEqual([50, 50])
    const reason = 'x'.repeat(500)
    const rejectAll = async () => {
      for (const { bucket, key, id } of arrived) await store.reject({ bucket, key, id, reason })
    }
    const expectRefused = async (call: () => Promise<unknown>) => {
      const before = await readWaiting(store)
      await expect(call()).rejects.toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('disk is full') as string,
      })
      expect(database.inTransaction).toBe(false)
      return before
    }
    expect(await expectRefused(() => store.keep({ scope: 'ann', objects: temporary }))).toEqual(
      await readWaiting(store),
    )
    now = new Date(now.getTime() + 10 * MINUTE)
    expect(await expectRefused(() => store.endTemporary({ objects: temporary }))).toEqual(
      await readWaiting(store),
    )
    // Rejections fit until one doesn't, of which nothing is left.
    const before = await expectRefused(rejectAll)
    const after = await readWaiting(store)
    const decided = before.arrived.length - after.arrived.length
    expect(after.waiting).toBe(before.waiting + decided)
    expect(after.leftovers).toHaveLength(before.leftovers.length + decided)
    expect(after.usage).toEqual([])
    const rejections = database.prepare('SELECT count(*) FROM svc_db_rejections').pluck()
    expect(rejections.get()).toBe(decided)

    database.pragma('max_page_count = 1000000')
    const [next] = after.arrived
    expect(await store.reject({ bucket: 'b', key: next!.key, id: next!.id, reason })).toMatchObject({
      id: next!.id,
    })
    expect((await store.endTemporary({ objects: temporary })).removed).toHaveLength(50)
  })

  it('because it is full, in a transaction of the application', async () => {
    const { database, store } = await opened({ join: true })
    const pages = database.pragma('page_count', { simple: true }) as number
    database.pragma(`max_page_count = ${pages}`)
    database.exec('BEGIN')
    const fill = async () => {
      for (let index = 0; index < 1000; index++) await store.reserve({ ...attempt, key: `key ${index}` })
    }
    await expect(fill()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
    if (database.inTransaction) database.exec('ROLLBACK')
    expect(await store.countByScope('ann')).toBe(0)
    expect(await store.checkUsage()).toEqual([])
  })

  it('because the handle is read-only or closed', async () => {
    const { path, database, store } = await opened()
    const readOnly = sqliteAdapter(folder.handle(path, { readonly: true }))
    await expect(readOnly.reserve(attempt)).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      retryable: false,
      message: expect.stringContaining('read-only') as string,
    })
    expect(await readOnly.find(attempt)).toBeNull()
    expect(await readOnly.verify()).toEqual([])
    await storeWaiting(store, 1)
    const before = await readWaiting(readOnly)
    const [[object], [arrived]] = [before.temporary, before.arrived]
    const keep = [object!.id]
    for (const call of [
      () => readOnly.keep({ scope: 'ann', objects: [object!] }),
      () => readOnly.endTemporary({ objects: [object!], keep }),
      () => readOnly.reject({ bucket: 'b', key: arrived!.key, id: arrived!.id }),
      () => readOnly.confirm({ bucket: 'b', key: arrived!.key, id: arrived!.id, size: 3, accept: true }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE', retryable: false })
    }
    expect(await readWaiting(store)).toEqual(before)
    database.close()
    await expect(store.reserve(attempt)).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('not open') as string,
    })
  })

  it('because a foreign key of the application protects a row: endTemporary passes over it', async () => {
    const path = await folder.migratedPath(false)
    let now = new Date()
    const database = folder.handle(path)
    const store = sqliteAdapter(database, { now: () => now })
    database.exec(`PRAGMA foreign_keys = ON;
      CREATE TABLE uses (seq INTEGER REFERENCES svc_db_objects (seq))`)
    for (const key of ['used', 'free']) {
      const { id } = await store.reserve({ ...attempt, key, temporarySeconds: 1 })
      await store.confirm({ bucket: 'b', key, id, size: 3 })
    }
    database.exec(`INSERT INTO uses SELECT seq FROM svc_db_objects WHERE key = 'used'`)
    now = new Date(now.getTime() + 3_600_000)
    const objects = await store.listTemporary()
    expect(objects).toHaveLength(2)
    const { removed, kept } = await store.endTemporary({ objects, mode: 'hard' })
    expect(removed.map(({ key }) => key)).toEqual(['free'])
    expect(kept).toBe(1)
    expect(await store.checkUsage()).toEqual([])
  })
})
