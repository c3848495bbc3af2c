import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageObjectStore } from '@svc/db'
import { sqliteAdapter, type SqliteAdapterOptions } from '@svc/db/sqlite'
import Database from 'better-sqlite3'

/** Files in memory, where the system has such a folder: most of the time on a disk is the wait for it. */
const MEMORY = '/dev/shm'

/** A folder with database files. Handles on them are closed and the folder is removed by `drop`. */
export function databaseFolder() {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'svc-db-sqlite-'))
  const handles = new Map<string, Database.Database[]>()
  const paths = new WeakMap<StorageObjectStore, string>()
  const migrated = new Map<boolean, string>()
  let files = 0

  const newPath = () => join(folder, `${files++}.db`)

  /** Opens a handle of its own on a file. */
  function handle(path: string, options?: Database.Options): Database.Database {
    const database = new Database(path, options)
    handles.set(path, [...(handles.get(path) ?? []), database])
    return database
  }

  function open(path: string, options?: SqliteAdapterOptions): StorageObjectStore {
    const store = sqliteAdapter(handle(path), options)
    paths.set(store, path)
    return store
  }

  /** Migrates a file once, and returns the path of a copy. */
  async function migratedPath(events: boolean): Promise<string> {
    const path = newPath()
    let original = migrated.get(events)
    if (original === undefined) {
      original = newPath()
      const database = new Database(original)
      await sqliteAdapter(database, { events }).migrate()
      database.close()
      migrated.set(events, original)
    }
    copyFileSync(original, path)
    return path
  }

  function remove(path: string): void {
    for (const database of handles.get(path) ?? []) database.close()
    handles.delete(path)
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true })
  }

  return {
    newPath,
    handle,
    open,
    migratedPath,
    pathOf: (store: StorageObjectStore) => paths.get(store)!,
    /** Creates a store on tables of its own. */
    create: async (options: SqliteAdapterOptions = {}) =>
      open(await migratedPath(options.events ?? false), options),
    /** Closes the handles on a file and removes it. */
    remove,
    drop(): void {
      for (const path of handles.keys()) remove(path)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
