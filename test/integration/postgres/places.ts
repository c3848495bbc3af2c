import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { describeWithServer } from '../../servers/describe-with-server.js'

/** The server of the tests, or a visible skip where there is none. */
export function describePostgres(title: string, body: (url: string) => void): void {
  describeWithServer('postgres', title, body)
}

/** A pool that survives what the tests do to its connections. */
export function poolOf(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 8, ...options })
  // Without a listener the loss of an idle connection would end the process.
  pool.on('error', () => {})
  return pool
}

/** A schema that no other test uses, with a quotation mark, a space and capitals to be quoted. */
export function freshSchema(): string {
  return `test "${randomBytes(6).toString('hex')}" Schema's`
}

export async function dropSchema(pool: pg.Pool, schema: string): Promise<void> {
  await pool.query(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`)
}

export function quoted(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`
}

/** Stores over empty places for a suite that wants hundreds: a schema that was given back is emptied and used again. */
export function emptyPlaces(pool: pg.Pool): {
  take(): Promise<string>
  giveBack(schema: string): void
  drop(): Promise<void>
} {
  const all: string[] = []
  const free: string[] = []
  return {
    async take() {
      const used = free.pop()
      if (used !== undefined) {
        // Unlike TRUNCATE this is quick for a few rows, and what the tests left is a few rows.
        for (const table of ['objects', 'scope_usage', 'leftovers']) {
          await pool.query(`DELETE FROM ${quoted(used)}.${table}`)
        }
        return used
      }
      const schema = freshSchema()
      await postgresAdapter(pool, { schema }).migrate()
      all.push(schema)
      return schema
    },
    giveBack(schema) {
      free.push(schema)
    },
    async drop() {
      for (const schema of all) await dropSchema(pool, schema)
    },
  }
}
