import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { emptyStores } from '../drivers/empty-stores.js'
import { describeSkipped, describeWithServer } from '../../servers/describe-with-server.js'
import { postgresPrograms } from '../../servers/private-cluster.js'

/** Describes tests on the shared server, or a visible skip if there is none. */
export function describePostgres(title: string, body: (url: string) => void): void {
  describeWithServer('postgres', title, body)
}

/**
 * Describes tests on a database of their own, because Postgres counts deadlocks, and keeps dead rows for the transactions of
 * others, per database. Expects that there was no deadlock in it. The tests close their connections.
 */
export function describeOwnDatabase(title: string, body: (url: string) => void): void {
  describePostgres(title, (serverUrl) => {
    const name = `test_${randomBytes(6).toString('hex')}`
    const server = poolOf(serverUrl, { max: 1 })
    beforeAll(async () => {
      await server.query(`CREATE DATABASE ${name}`)
    })
    afterAll(async () => {
      // A session reports its deadlocks when it ends.
      const sessions = () => server.query('SELECT FROM pg_stat_activity WHERE datname = $1', [name])
      while ((await sessions()).rowCount! > 0) await setTimeout(10)
      const { rows } = await server.query<{ deadlocks: string }>(
        'SELECT deadlocks FROM pg_stat_database WHERE datname = $1',
        [name],
      )
      await server.query(`DROP DATABASE ${name}`)
      await server.end()
      expect(rows).toEqual([{ deadlocks: '0' }])
    })
    body(new URL(`/${name}`, serverUrl).href)
  })
}

/** Describes tests that start their own cluster, or a visible skip if PostgreSQL is not installed. */
export function describePrivatePostgres(title: string, body: (programs: string) => void): void {
  const programs = postgresPrograms()
  if (programs !== null) return void describe(title, () => body(programs))
  const server = inject('postgres')
  const reason =
    server.url === null
      ? server.reason
      : `tests must not stop the server of ${server.from}; install PostgreSQL`
  console.warn(`Skipped: ${title}. ${reason}`)
  describeSkipped(title, reason)
}

/** Creates a pool that survives the loss of idle connections. */
export function poolOf(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 8, ...options })
  // Without a listener, losing an idle connection would end the process.
  pool.on('error', () => {})
  return pool
}

/**
 * Waits until this many sessions wait for a lock in a statement that names the schema, and returns their process ids. Ignores the
 * session `except`.
 */
export async function untilBlocked(pool: pg.Pool, schema: string, count = 1, except = 0): Promise<number[]> {
  for (;;) {
    const { rows } = await pool.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity
       WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%' AND pid <> $2`,
      [quoted(schema), except],
    )
    if (rows.length >= count) return rows.map(({ pid }) => pid)
    await setTimeout(10)
  }
}

/** Waits until one session waits for a lock of the table. */
export async function untilAwaited(pool: pg.Pool, schema: string, table: string): Promise<void> {
  const waiting = `SELECT FROM pg_locks
    WHERE relation = format('%I.%I', $1::text, $2::text)::regclass AND NOT granted`
  await expect.poll(async () => (await pool.query(waiting, [schema, table])).rowCount).toBe(1)
}

/** Returns how many rows of the schema's tables a call of this session reads, by scans and by indexes. */
export async function rowsReadBy(
  session: Pick<pg.Pool | pg.PoolClient, 'query'>,
  schema: string,
  call: () => Promise<unknown>,
): Promise<number> {
  const read = async () => {
    const { rows } = await session.query<{ read: number }>(
      `SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS read
       FROM pg_stat_xact_user_tables WHERE schemaname = $1`,
      [schema],
    )
    return rows[0]!.read
  }
  await session.query('BEGIN')
  const before = await read()
  await call()
  const after = await read()
  await session.query('COMMIT')
  return after - before
}

/** Runs `use` with a pool of another role, which has no password. */
export async function asRole(
  url: string,
  role: string,
  use: (pool: pg.Pool) => Promise<void>,
): Promise<void> {
  const roleUrl = new URL(url)
  roleUrl.username = role
  roleUrl.password = ''
  const pool = poolOf(roleUrl.href, { max: 2 })
  await use(pool).finally(() => pool.end())
}

/** Returns the name of an unused schema. It contains characters that must be quoted. */
export function freshSchema(): string {
  return `test "${randomBytes(6).toString('hex')}" Schema's`
}

/** Registers hooks that migrate a schema for all tests of a suite, and at its end drop it and end the pool. */
export function migratedSchema(pool: pg.Pool, options: { readonly events?: boolean } = {}): string {
  const schema = freshSchema()
  beforeAll(() => postgresAdapter(pool, { schema, ...options }).migrate())
  afterAll(async () => {
    await dropSchema(pool, schema)
    await pool.end()
  })
  return schema
}

/** Registers hooks that pass each test of a suite the name of a schema, drop it, and end the pool in the end. */
export function schemaOfEachTest(pool: pg.Pool, begin: (schema: string) => unknown): void {
  let schema: string
  beforeEach(async () => {
    schema = freshSchema()
    await begin(schema)
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(() => pool.end())
}

/** Runs `use` in a transaction on a separate connection, and rolls it back. */
export async function inTransaction(
  pool: pg.Pool,
  use: (client: pg.PoolClient) => Promise<unknown>,
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    await use(client)
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

export async function dropSchema(pool: pg.Pool | pg.Client, schema: string): Promise<void> {
  await pool.query(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`)
}

export function quoted(schema: string): string {
  return `"${schema.replaceAll('"', '""')}"`
}

/** Creates stores over a handle of the pool's database. The pool itself empties and drops the schemas. */
export function storesInEmptySchemas(pool: pg.Pool, handle: Parameters<typeof postgresAdapter>[0] = pool) {
  const schemas: string[] = []
  const stores = emptyStores({
    newName() {
      schemas.push(freshSchema())
      return schemas.at(-1)!
    },
    open: (schema, context) => postgresAdapter(handle, { schema, ...context }),
    // Faster than TRUNCATE for the few rows that a test leaves. Deleting objects can record events.
    empty: (schema) =>
      pool.query(
        ['objects', 'scope_usage', 'leftovers', 'terms', 'rejections', 'events']
          .map((table) => `DELETE FROM ${quoted(schema)}.${table}`)
          .join(';'),
      ),
    spoil: (schema, scope) =>
      pool.query(
        `UPDATE ${quoted(schema)}.scope_usage SET bytes = bytes + 1, files = files + 1 WHERE scope = $1`,
        [scope],
      ),
  })
  const drop = async () => {
    for (const schema of schemas) await dropSchema(pool, schema)
  }
  return { ...stores, drop }
}
