import { afterAll, describe, expect, it } from 'vitest'
import { sqliteAdapter } from '@svc/db/sqlite'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { databaseFolder } from './files.js'

const folder = databaseFolder()
afterAll(() => folder.drop())

const attempt = {
  ...{ scope: 'ann', bucket: 'b', key: 'k', declaredSize: 3, expiresAt: new Date('2100-01-01') },
}
const pause = () => new Promise((resolve) => setTimeout(resolve, 1))

/** Opens a store, the handle below it, and the handle of another connection. */
async function opened(options = {}) {
  const path = await folder.migratedPath(false)
  const database = folder.handle(path)
  return { path, database, store: sqliteAdapter(database, options), other: folder.handle(path) }
}

describe('a write that finds the file locked', () => {
  it.each([
    ['the first of a store', []],
    ['a later one', ['earlier']],
  ])('waits while timers go on, and leaves the time-out of the handle as it was: %s', async (_, earlier) => {
    const { database, store, other } = await opened()
    for (const key of earlier) await store.reserve({ ...attempt, key })
    // A process that waited within SQLite would wait for weeks.
    database.pragma('busy_timeout = 2000000000')
    other.exec('BEGIN IMMEDIATE')
    const settled: string[] = []
    const writes = ['first', 'second'].map((key) =>
      store.reserve({ ...attempt, key }).then(() => settled.push(key)),
    )
    for (let ticks = 0; ticks < 20; ticks++) await pause()
    expect(settled).toEqual([])
    // Readers wait for no writer.
    expect(await store.find(attempt)).toBeNull()
    other.exec('COMMIT')
    await Promise.all(writes)
    expect(settled).toEqual(['first', 'second'])
    expect(database.pragma('busy_timeout', { simple: true })).toBe(2_000_000_000)
  })

  it('is refused after 5 seconds, and has done nothing: another connection, or the application on this one', async () => {
    const [busy, shared] = [await opened(), await opened()]
    busy.other.exec('BEGIN IMMEDIATE')
    shared.database.exec('BEGIN')
    const refusal = (reason: string) => ({
      code: 'DATABASE_UNAVAILABLE',
      retryable: true,
      message: expect.stringContaining(reason) as string,
    })
    await Promise.all([
      expect(busy.store.reserve(attempt)).rejects.toMatchObject(refusal('locked')),
      expect(shared.store.reserve(attempt)).rejects.toMatchObject(refusal('set join: true')),
    ])
    busy.other.exec('ROLLBACK')
    shared.database.exec('ROLLBACK')
    for (const { store } of [busy, shared]) {
      expect(await store.find(attempt)).toBeNull()
      await expect(store.reserve(attempt)).resolves.toMatchObject({ status: 'pending' })
    }
  })
})

describe('a loop that awaits nothing but calls', () => {
  /** Counts the calls until a timer fires, up to a number that takes longer than any turn. */
  async function callsBeforeTimer(call: (index: number) => Promise<unknown>, most: number): Promise<number> {
    let isDue = false
    const timer = setTimeout(() => (isDue = true), 0)
    let calls = 0
    for (; calls < most && !isDue; calls++) await call(calls).catch(() => {})
    clearTimeout(timer)
    return calls
  }

  it.each([true, false])('lets timers and requests go on (join: %s)', async (join) => {
    const { store } = await opened({ join })
    const most = 50_000
    expect(await callsBeforeTimer(() => store.find(attempt), most)).toBeLessThan(most)
    const write = (index: number) => store.reserve({ ...attempt, key: `key ${index}` })
    expect(await callsBeforeTimer(write, most)).toBeLessThan(most)
    const refused = () => store.confirm({ ...attempt, key: 'none', id: undefined, size: 1 })
    expect(await callsBeforeTimer(refused, most)).toBeLessThan(most)
  })

  it('does not within a transaction of the application, whose statements others would join', async () => {
    const { database, store } = await opened({ join: true })
    database.exec('BEGIN')
    const most = 1000
    const write = (index: number) => store.reserve({ ...attempt, key: `key ${index}` })
    expect(await callsBeforeTimer(write, most)).toBe(most)
    expect(await callsBeforeTimer(() => store.find(attempt), most)).toBe(most)
    database.exec('COMMIT')
  })
})

describe('beside a transaction of the application on the same handle', () => {
  it('waits until it has ended, and stays if that is rolled back', async () => {
    const { database, store } = await opened()
    database.exec('CREATE TABLE notes (text TEXT); BEGIN; INSERT INTO notes VALUES (1)')
    let isDone = false
    const reserved = store.reserve(attempt).finally(() => (isDone = true))
    for (let ticks = 0; ticks < 5; ticks++) await pause()
    expect(isDone).toBe(false)
    database.exec('ROLLBACK')
    await reserved
    expect(await store.find(attempt)).toMatchObject({ status: 'pending' })
  })

  it.each(['COMMIT', 'ROLLBACK'])('takes part in it with join: %s', async (end) => {
    const { database, store } = await opened({ join: true })
    database.exec('BEGIN')
    await store.reserve(attempt)
    // A refusal undoes nothing else of the transaction.
    await expect(store.confirm({ ...attempt, id: undefined, size: 3 })).resolves.toMatchObject({ size: 3 })
    await expect(store.reserve({ ...attempt, key: 'l', quota: { maxFiles: 1 } })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    database.exec(end)
    const expected = end === 'COMMIT' ? { status: 'active' } : null
    expect(await store.find(attempt)).toEqual(expected && expect.objectContaining(expected))
    expect(await store.checkUsage()).toEqual([])
  })
})

describe('keep, with join, inside a synchronous transaction', () => {
  const notes = sqliteTable('notes', { id: text().primaryKey() })

  /** Opens a store with an object that has an end. */
  async function withTemporary() {
    const opening = await opened({ join: true })
    const { store, database } = opening
    database.exec('CREATE TABLE notes (id TEXT PRIMARY KEY)')
    const { id } = await store.reserve({ ...attempt, temporarySeconds: 60 })
    await store.confirm({ bucket: 'b', key: 'k', id, size: 3 })
    const end = async () => (await store.findActive(attempt))!.temporaryUntil
    expect(await end()).not.toBeNull()
    return { ...opening, id, end }
  }

  it('of better-sqlite3 is committed with what the application writes', async () => {
    const { store, database, id, end } = await withTemporary()
    let kept: Promise<unknown> | undefined
    database.transaction(() => {
      database.exec(`INSERT INTO notes VALUES ('a')`)
      kept = store.keep({ scope: 'ann', objects: [{ id }] })
    })()
    await kept
    expect(await end()).toBeNull()
    expect(database.prepare('SELECT count(*) FROM notes').pluck().get()).toBe(1)
  })

  it('of drizzle is rolled back with what the application writes', async () => {
    const { store, database, id, end } = await withTemporary()
    const db = drizzle(database)
    let kept: Promise<unknown> | undefined
    expect(() =>
      db.transaction((tx) => {
        tx.insert(notes).values({ id: 'a' }).run()
        kept = store.keep({ scope: 'ann', objects: [{ id }] })
        throw new Error('the form is invalid')
      }),
    ).toThrow('the form is invalid')
    await kept
    expect(await end()).not.toBeNull()
    expect(db.select().from(notes).all()).toEqual([])
    db.transaction((tx) => {
      tx.insert(notes).values({ id: 'a' }).run()
      kept = store.keep({ scope: 'ann', objects: [{ id }] })
    })
    await kept
    expect(await end()).toBeNull()
  })
})
