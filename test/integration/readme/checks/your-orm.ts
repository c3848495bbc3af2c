import type { PrismaPg } from '@prisma/adapter-pg'
import type { Knex } from 'knex'
import mongoose from 'mongoose'
import type pg from 'pg'
import type { Sql } from 'postgres'
import type { Sequelize } from 'sequelize'
import type { DataSource } from 'typeorm'
import { expect, vi } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { createDatabase } from '../../../servers/fresh-database.js'
import { poolOf } from '../../postgres/schemas.js'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { expectToServe, uploadTo } from '../store-programs.js'

interface OrmProgram {
  readonly store: StorageObjectStore
  readonly deleteDocument: (key: string) => Promise<void>
}

/** Runs `use` with a new database that has the tables of the application. */
async function withTables(use: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const shared = process.env['DATABASE_URL']!
  const database = await createDatabase(shared)
  vi.stubEnv('DATABASE_URL', database.url)
  const pool = poolOf(database.url)
  try {
    await pool.query(`
      CREATE TABLE documents (key text PRIMARY KEY);
      CREATE TABLE comments (document text REFERENCES documents DEFERRABLE INITIALLY DEFERRED)`)
    await use(pool)
  } finally {
    vi.stubEnv('DATABASE_URL', shared)
    await pool.end()
    await database.drop()
  }
}

/** Expects that the store works, and that a document and its object are deleted together or not at all. */
function deletesTogether<Program extends OrmProgram>(
  name: string,
  close: (program: Program) => Promise<unknown>,
): SnippetCheck {
  return async (file) => {
    await withTables(async (pool) => {
      const program = await run<Program>(file)
      const { store, deleteDocument } = program
      await store.migrate()
      await expectToServe(store)
      await uploadTo(store, name)
      const object = { bucket: 'uploads', key: `${name}/a.txt` }
      const countDocuments = async () => (await pool.query('SELECT FROM documents')).rowCount
      await pool.query('INSERT INTO documents VALUES ($1)', [object.key])
      // Makes the commit fail, after both writes.
      await pool.query('INSERT INTO comments VALUES ($1)', [object.key])
      // Sequelize reports a failed commit there as well.
      vi.spyOn(console, 'warn').mockReturnValue()
      await expect(deleteDocument(object.key)).rejects.toThrow()
      expect(await store.findActive(object)).not.toBeNull()
      expect(await countDocuments()).toBe(1)

      await pool.query('DELETE FROM comments')
      await deleteDocument(object.key)
      expect(await store.findActive(object)).toBeNull()
      expect(await countDocuments()).toBe(0)
      expect(await store.checkUsage()).toEqual([])
      expect(await store.purgeDeleted({ before: new Date(Date.now() + 60_000) })).toBe(1)
      await close(program)
    })
  }
}

const commitsAndRollsBack: SnippetCheck = async (program) => {
  const { inTransaction } = await run<{
    inTransaction: (pool: pg.Pool, work: (client: pg.PoolClient) => Promise<unknown>) => Promise<unknown>
  }>(program)
  await withTables(async (pool) => {
    const insert = (client: pg.PoolClient, key: string) =>
      client.query('INSERT INTO documents VALUES ($1)', [key])
    await inTransaction(pool, (client) => insert(client, 'kept'))
    const failing = inTransaction(pool, async (client) => {
      await insert(client, 'undone')
      throw new Error('a bug')
    })
    await expect(failing).rejects.toThrow('a bug')
    const cut = inTransaction(pool, async (client) => {
      await insert(client, 'cut off')
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      await pool.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]!.pid])
      await insert(client, 'after the loss')
    })
    await expect(cut).rejects.toThrow()
    expect((await pool.query('SELECT key FROM documents')).rows).toEqual([{ key: 'kept' }])
    expect(pool.idleCount).toBe(pool.totalCount)
  })
}

const sharesPool: SnippetCheck = async (program) => {
  const { pool, store, adapter } = await run<{ pool: pg.Pool; store: StorageObjectStore; adapter: PrismaPg }>(
    program,
  )
  const connection = await adapter.connect()
  await store.migrate()
  await uploadTo(store, 'prisma')
  const { rows } = await connection.queryRaw({
    sql: `SELECT key FROM svc_db.objects WHERE scope = 'prisma'`,
    args: [],
    argTypes: [],
  })
  expect(rows).toEqual([['prisma/a.txt']])
  expect(pool.totalCount).toBe(1)
  await connection.dispose()
  await store.ping()
  await pool.end()
}

const usesMongoose: SnippetCheck = async (program) => {
  const { store } = await run<{ store: StorageObjectStore }>(program)
  await store.migrate()
  await uploadTo(store, 'mongoose')
  await mongoose.disconnect()
  await expect(store.ping()).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
}

export const yourOrmChecks: SnippetChecks = {
  'docs/your-orm.md#transaction.ts': { onPostgres: commitsAndRollsBack },
  'docs/your-orm.md#with-drizzle.ts': {
    onPostgres: deletesTogether('drizzle', ({ pool }: OrmProgram & { pool: pg.Pool }) => pool.end()),
  },
  'docs/your-orm.md#with-knex.ts': {
    onPostgres: deletesTogether('knex', ({ database }: OrmProgram & { database: Knex }) =>
      database.destroy(),
    ),
  },
  'docs/your-orm.md#with-kysely.ts': {
    onPostgres: deletesTogether('kysely', ({ pool }: OrmProgram & { pool: pg.Pool }) => pool.end()),
  },
  'docs/your-orm.md#with-prisma.ts': { onPostgres: sharesPool },
  'docs/your-orm.md#with-typeorm.ts': {
    onPostgres: deletesTogether('typeorm', ({ dataSource }: OrmProgram & { dataSource: DataSource }) =>
      dataSource.destroy(),
    ),
  },
  'docs/your-orm.md#with-sequelize.ts': {
    onPostgres: deletesTogether('sequelize', ({ sequelize }: OrmProgram & { sequelize: Sequelize }) =>
      sequelize.close(),
    ),
  },
  'docs/your-orm.md#with-postgres-js.ts': {
    onPostgres: deletesTogether('postgres-js', ({ sql }: OrmProgram & { sql: Sql }) => sql.end()),
  },
  'docs/your-orm.md#with-mongoose.ts': { onMongo: usesMongoose },
}
