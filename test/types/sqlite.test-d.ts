import type Database from 'better-sqlite3'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import type { DatabaseSync } from 'node:sqlite'
import type { PGlite } from '@electric-sql/pglite'
import { describe, expectTypeOf, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { sqliteAdapter, type SqliteAdapterOptions, type SqliteDatabase } from '@svc/db/sqlite'

declare const database: Database.Database
declare const builtIn: DatabaseSync
declare const drizzled: BetterSQLite3Database & { $client: Database.Database }

describe('sqliteAdapter()', () => {
  it('accepts a handle of both libraries, and returns a store', () => {
    expectTypeOf(sqliteAdapter(database)).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(sqliteAdapter(builtIn)).toEqualTypeOf<StorageObjectStore>()
    expectTypeOf(sqliteAdapter(drizzled.$client)).toEqualTypeOf<StorageObjectStore>()
    sqliteAdapter({} as SqliteDatabase)
  })

  it('rejects what is no handle', () => {
    // @ts-expect-error a path is not a handle
    sqliteAdapter('data.db')
    // @ts-expect-error the class is not a handle
    sqliteAdapter({} as typeof Database)
    // @ts-expect-error pass its $client
    sqliteAdapter({} as BetterSQLite3Database)
    // @ts-expect-error calls of this database return promises
    sqliteAdapter({} as PGlite)
    // @ts-expect-error the handle is required
    sqliteAdapter()
  })

  it('checks the types of its options', () => {
    sqliteAdapter(database, { events: true, join: null, tablePrefix: undefined, now: () => new Date() })
    sqliteAdapter(builtIn, null)
    expectTypeOf<SqliteAdapterOptions['join']>().toEqualTypeOf<boolean | null | undefined>()
    // @ts-expect-error a flag
    sqliteAdapter(database, { join: 'yes' })
    // @ts-expect-error unknown option
    sqliteAdapter(database, { schema: 'files' })
    // @ts-expect-error a clock returns a Date
    sqliteAdapter(database, { now: Date.now })
  })
})
