import { clientOf, describeMongo, freshDatabase } from '../mongo/places.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/places.js'
import type { LoadedDatabase } from './loaded-database.js'

/** An empty place of a database, and how it goes. */
type Body = (database: LoadedDatabase, drop: () => Promise<void>) => void

/** The same tests over each database that several processes can share. */
export function describeEachDatabase(title: string, body: Body): void {
  describePostgres(`${title} Postgres`, (url) => {
    const schema = freshSchema()
    body({ kind: 'postgres', url, schema }, async () => {
      const pool = poolOf(url)
      await dropSchema(pool, schema)
      await pool.end()
    })
  })
  describeMongo(`${title} MongoDB`, (url) => {
    const client = clientOf(url)
    const db = freshDatabase(client)
    body({ kind: 'mongo', url, name: db.databaseName }, async () => {
      await db.dropDatabase()
      await client.close()
    })
  })
}
