import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** A new database on a shared server. */
export interface FreshDatabase {
  readonly url: string
  query(sql: string): Promise<pg.QueryResult<Record<string, unknown>>>
  /** Drops the database and closes all connections to it. */
  drop(): Promise<void>
}

export async function createDatabase(serverUrl: string): Promise<FreshDatabase> {
  const name = `test_${randomBytes(6).toString('hex')}`
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  await queryOnce(serverUrl, `CREATE DATABASE ${name}`)
  return {
    url: url.href,
    query: (sql) => queryOnce(url.href, sql),
    async drop() {
      // A pool that has just ended may still be closing connections, which would report that they were terminated.
      for (let look = 0; look < 50; look++) {
        const open = `SELECT FROM pg_stat_activity WHERE datname = '${name}'`
        if ((await queryOnce(serverUrl, open)).rowCount === 0) break
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      await queryOnce(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

async function queryOnce(url: string, sql: string): Promise<pg.QueryResult<Record<string, unknown>>> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await client.query<Record<string, unknown>>(sql)
  } finally {
    await client.end()
  }
}
