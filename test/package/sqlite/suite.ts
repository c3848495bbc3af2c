import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { DatabaseSync, type DatabaseSyncOptions } from 'node:sqlite'
import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import {
  sqliteAdapter,
  type SqliteAdapterOptions,
  type SqliteDatabase,
  type SqliteValue,
} from '@svc/db/sqlite'

/** Runs under a Node with `node:sqlite`, by Node's own test runner. */
const folder = mkdtempSync(join(tmpdir(), 'svc-db-node-sqlite-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const paths = new WeakMap<StorageObjectStore, string>()
const handles = new Map<string, DatabaseSync[]>()
const migrated = new Map<boolean, string>()

const newPath = () => join(folder, `${files++}.db`)
const pathOf = (store: StorageObjectStore) => paths.get(store) ?? ''

/** Handles whose settings differ from the defaults must make no difference. */
const SETTINGS: readonly (DatabaseSyncOptions & { readonly isOld?: boolean })[] = [
  {},
  { readBigInts: true },
  { returnArrays: true, timeout: 100 },
  { isOld: true },
]

/** Hides what Node 22.13 lacks: whether a transaction is open, and rows as arrays. */
function asInNode22_13(database: DatabaseSync): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      const statement = database.prepare(sql)
      return {
        all: (...values: SqliteValue[]) => statement.all(...values),
        get: (...values: SqliteValue[]) => statement.get(...values),
        run: (...values: SqliteValue[]) => statement.run(...values),
      }
    },
  }
}

function open(path: string, options: SqliteAdapterOptions = {}): StorageObjectStore {
  const { isOld, ...settings } = SETTINGS[files % SETTINGS.length] ?? {}
  const database = new DatabaseSync(path, settings)
  handles.set(path, [...(handles.get(path) ?? []), database])
  const store = sqliteAdapter(isOld ? asInNode22_13(database) : database, options)
  paths.set(store, path)
  return store
}

async function create(options: SqliteAdapterOptions): Promise<StorageObjectStore> {
  const events = options.events ?? false
  let original = migrated.get(events)
  if (original === undefined) {
    original = newPath()
    const database = new DatabaseSync(original)
    await sqliteAdapter(database, { events }).migrate()
    database.close()
    migrated.set(events, original)
  }
  const path = newPath()
  copyFileSync(original, path)
  return open(path, options)
}

storeConformance({
  name: 'sqliteAdapter over node:sqlite',
  createStore: create,
  createEmpty: (settings) => open(newPath(), settings),
  reopen: (store, settings) => open(pathOf(store), settings),
  tamper(store, scope) {
    const database = new DatabaseSync(pathOf(store))
    database.prepare('UPDATE svc_db_scope_usage SET bytes = bytes + 1 WHERE scope = ?').run(scope)
    database.close()
  },
  close(store) {
    for (const database of handles.get(pathOf(store)) ?? []) database.close()
    handles.delete(pathOf(store))
    for (const end of ['', '-wal', '-shm']) rmSync(pathOf(store) + end, { force: true })
  },
  driver: true,
  test: { describe, it },
  numRuns: 10,
})

const attempt = { scope: 'ann', bucket: 'b', key: 'k', declaredSize: 3, expiresAt: new Date('2100-01-01') }

void it('waits for a file that another handle has locked, while timers go on', async () => {
  const path = newPath()
  const database = new DatabaseSync(path, { timeout: 10_000 })
  const store = sqliteAdapter(database)
  await store.migrate()
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  let isDone = false
  const reserved = store.reserve(attempt).finally(() => (isDone = true))
  for (let ticks = 0; ticks < 5; ticks++) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.equal(isDone, false)
  other.exec('COMMIT')
  assert.equal((await reserved).status, 'pending')
  assert.deepEqual({ ...database.prepare('PRAGMA busy_timeout').get() }, { timeout: 10_000 })
  for (const handle of [database, other]) handle.close()
})

void it('joins a transaction, and waits for one without join', async () => {
  const database = new DatabaseSync(newPath())
  await sqliteAdapter(database).migrate()
  database.exec('BEGIN')
  const joined = sqliteAdapter(database, { join: true }).reserve(attempt)
  const waiting = sqliteAdapter(database).reserve({ ...attempt, key: 'other' })
  await joined
  database.exec('ROLLBACK')
  await waiting
  const store = sqliteAdapter(database)
  assert.equal(await store.find(attempt), null)
  assert.equal((await store.find({ ...attempt, key: 'other' }))?.status, 'pending')
  database.close()
})

void it('reports a full file and one that is read-only, and does nothing by halves', async () => {
  const path = newPath()
  const database = new DatabaseSync(path)
  const store = sqliteAdapter(database)
  await store.migrate()
  const pages = Object.values(database.prepare('PRAGMA page_count').get() ?? {})[0]
  database.exec(`PRAGMA max_page_count = ${String(pages)}`)
  const fill = async () => {
    for (let index = 0; index < 1000; index++) await store.reserve({ ...attempt, key: `key ${index}` })
  }
  await assert.rejects(fill(), { code: 'DATABASE_UNAVAILABLE', message: /disk is full/ })
  assert.deepEqual(await store.checkUsage(), [])
  const readOnly = sqliteAdapter(new DatabaseSync(path, { readOnly: true }))
  await assert.rejects(readOnly.reserve(attempt), { code: 'DATABASE_UNAVAILABLE', message: /read-only/ })
  assert.ok((await readOnly.countByScope('ann')) > 0)
  database.close()
  await assert.rejects(store.reserve(attempt), { code: 'DATABASE_UNAVAILABLE', message: /not open/ })
})
