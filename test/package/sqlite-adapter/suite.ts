import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { DatabaseSync } from 'node:sqlite'
import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { sqliteAdapter } from '../../../examples/sqlite-adapter/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-adapter-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const paths = new WeakMap<StorageObjectStore, string>()

type Settings = Omit<Parameters<typeof sqliteAdapter>[0], 'path'>

function open(path: string, settings: Settings): StorageObjectStore {
  const store = sqliteAdapter({ path, ...settings })
  paths.set(store, path)
  return store
}

const newPath = () => join(folder, `${files++}.db`)
const pathOf = (store: StorageObjectStore) => paths.get(store) ?? ''

storeConformance({
  name: 'sqliteAdapter',
  async createStore(settings) {
    const store = open(newPath(), settings)
    await store.migrate()
    return store
  },
  createEmpty: (settings) => open(newPath(), settings),
  reopen: (store, settings) => open(pathOf(store), settings),
  tamper(store, scope) {
    const database = new DatabaseSync(pathOf(store))
    database.prepare('UPDATE scopes SET bytes = bytes + 1 WHERE scope = :scope').run({ scope })
    database.close()
  },
  driver: true,
  close: (store) => store.close(),
  test: { describe, it },
  numRuns: 5,
})
