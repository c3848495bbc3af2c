import { postgresAdapter } from '@svc/db/postgres'
import pg from 'pg'

// Iterates over a scope in a process with little memory, and prints what it has seen.

async function main(): Promise<void> {
  const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
  const store = postgresAdapter(pool, { schema: process.env['SCHEMA'] })
  const seen = { rows: 0, kept: 0, isSorted: true }
  let last = '~'
  for await (const { id, route } of store.iterateByScope({ scope: 'ann' })) {
    seen.rows++
    if (route === 'kept') seen.kept++
    // Sorted strictly, so no row comes twice.
    seen.isSorted &&= id < last
    last = id
  }
  console.log(JSON.stringify(seen))
  await pool.end()
}

void main()
