import type { Db, MongoClient } from 'mongodb'
import type { Db as Db6 } from 'mongodb6'
import type mongoose from 'mongoose'
import { describe, expectTypeOf, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { mongoAdapter, type MongoDatabase, type MongoDatabaseSource } from '@svc/db/mongo'

declare const connection: mongoose.Connection
// mongoose 8 has its own copy of the driver, version 6.
declare const connection8: { readonly db: Db6 | undefined }

describe('mongoAdapter()', () => {
  it('accepts a Db of any copy of the driver', () => {
    expectTypeOf(mongoAdapter({} as Db)).toEqualTypeOf<StorageObjectStore>()
    mongoAdapter({} as Db6)
    mongoAdapter({} as MongoDatabase)
    mongoAdapter(connection.db!)
    mongoAdapter(connection8.db!)
  })

  it('accepts a function that returns the Db, or nothing yet', () => {
    mongoAdapter(() => connection.db)
    mongoAdapter(() => connection8.db, { collectionPrefix: 'files_' })
    mongoAdapter(() => null)
    mongoAdapter({} as MongoDatabaseSource)
    // @ts-expect-error a promise is not a Db
    mongoAdapter(async () => connection.db)
  })

  it('rejects what only leads to a Db', () => {
    // @ts-expect-error undefined before the connection is open
    mongoAdapter(connection.db)
    // @ts-expect-error pass connection.db
    mongoAdapter(connection)
    // @ts-expect-error pass client.db()
    mongoAdapter({} as MongoClient)
    // @ts-expect-error a URL is not a Db
    mongoAdapter('mongodb://localhost')
    // @ts-expect-error mongoose is not a Db
    mongoAdapter({} as typeof mongoose)
  })
})
