import type { StorageObjectStore } from '@svc/db'
import { storeConformance, type TestRunner } from '@svc/db/conformance'
import { afterAll, describe } from 'vitest'
import { databaseFolder } from './files.js'

interface Extent {
  /** Registers the groups of the suite that run. */
  readonly test: TestRunner
  readonly numRuns: number
}

export function conformanceOnSqlite(extent: Extent): void {
  describe('better-sqlite3', () => {
    const folder = databaseFolder()
    afterAll(() => folder.drop())

    storeConformance({
      name: 'sqliteAdapter over better-sqlite3',
      createStore: (settings) => folder.create(settings),
      createEmpty: (settings) => folder.open(folder.newPath(), settings),
      reopen: (store, settings) => folder.open(folder.pathOf(store), settings),
      tamper(store, scope) {
        const change = 'UPDATE svc_db_scope_usage SET bytes = bytes + 1 WHERE scope = ?'
        folder.handle(folder.pathOf(store)).prepare(change).run(scope)
      },
      close: (store: StorageObjectStore) => folder.remove(folder.pathOf(store)),
      driver: true,
      ...extent,
    })
  })
}
