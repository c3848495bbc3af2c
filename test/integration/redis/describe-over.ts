import { inject } from 'vitest'
import { clientOf, describeMongo, freshDatabase } from '../mongo/databases.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'
import type { LoadedDatabase } from './loaded-database.js'

/** Registers tests over an empty database. `drop` removes it. */
type Body = (database: LoadedDatabase, drop: () => Promise<void>) => void

/** Registers the same tests over each database that several processes can share. */
export function describeEachDatabase(title: string, body: Body): void {
  describeOverPostgres(title, body)
  describeOverMongo(title, body)
}

/** Registers the tests over the first database that is available. */
export function describeFirstDatabase(title: string, body: Body): void {
  if (inject('postgres').url !== null) describeOverPostgres(title, body)
  else describeOverMongo(title, body)
}

function describeOverPostgres(title: string, body: Body): void {
  describePostgres(`${title} Postgres`, (url) => {
    const schema = freshSchema()
    body({ kind: 'postgres', url, schema }, async () => {
      const pool = poolOf(url)
      await dropSchema(pool, schema)
      await pool.end()
    })
  })
}

function describeOverMongo(title: string, body: Body): void {
  describeMongo(`${title} MongoDB`, (url) => {
    const client = clientOf(url)
    const db = freshDatabase(client)
    body({ kind: 'mongo', url, name: db.databaseName }, async () => {
      await db.dropDatabase()
      await client.close()
    })
  })
}
