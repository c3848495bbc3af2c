import { clientOf, describeMongo, freshDatabase } from '../mongo/databases.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'
import type { LoadedDatabase } from './loaded-database.js'

/** Registers tests over an empty database. `drop` removes it. */
export type DatabaseTests = (database: LoadedDatabase, drop: () => Promise<void>) => void

export function describeOverPostgres(title: string, tests: DatabaseTests): void {
  describePostgres(title, (url) => {
    const schema = freshSchema()
    tests({ kind: 'postgres', url, schema }, async () => {
      const pool = poolOf(url)
      await dropSchema(pool, schema)
      await pool.end()
    })
  })
}

export function describeOverMongo(title: string, tests: DatabaseTests): void {
  describeMongo(title, (url) => {
    const client = clientOf(url)
    const db = freshDatabase(client)
    tests({ kind: 'mongo', url, name: db.databaseName }, async () => {
      await db.dropDatabase()
      await client.close()
    })
  })
}
