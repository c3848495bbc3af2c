import 'reflect-metadata'
import { PGlite } from '@electric-sql/pglite'
import { drizzle } from 'drizzle-orm/node-postgres'
import { drizzle as drizzleInProcess } from 'drizzle-orm/pglite'
import { drizzle as drizzleOverSql } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import { Kysely, PostgresDialect } from 'kysely'
import { MongoClient } from 'mongodb'
import pg from 'pg'
import postgres from 'postgres'
import { Sequelize } from 'sequelize'
import { DataSource } from 'typeorm'
import { afterAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres } from './schemas.js'

const NOWHERE = 'postgres://nowhere.invalid/database'
const pool = new pg.Pool({ connectionString: NOWHERE })
const dataSource = new DataSource({ type: 'postgres', url: NOWHERE })

/** What is passed by mistake, how the message names it, and what it advises. Nothing here connects. */
const HANDLES: readonly (readonly [string, unknown, string])[] = [
  ['a TypeORM DataSource', dataSource, 'Pass dataSource.driver.master'],
  ['a TypeORM EntityManager', dataSource.manager, 'dataSource.driver.master'],
  ['a knex instance', knex({ client: 'pg', connection: NOWHERE }), 'docs/your-orm.md'],
  [
    'a Sequelize instance',
    new Sequelize(NOWHERE, { dialect: 'postgres', logging: false }),
    'docs/your-orm.md',
  ],
  ['a Kysely instance', new Kysely({ dialect: new PostgresDialect({ pool }) }), 'Pass the pg Pool'],
  ['a drizzle database', drizzle(pool), 'Pass db.$client.'],
  ['a drizzle database', drizzleOverSql(postgres(NOWHERE)), 'Pass db.$client.'],
  ['a drizzle database', drizzleInProcess(new PGlite()), 'Pass db.$client.'],
  ['a Promise', Promise.resolve(pool), 'Await it first.'],
  ['the function postgres of postgres.js', postgres, 'Call it: postgres(url).'],
  ['the module pg', pg, 'Pass new pg.Pool(…).'],
  ['a class', pg.Pool, 'Pass an instance of it.'],
  ['a class', pg.Client, 'Pass an instance of it.'],
  ['a class', PGlite, 'Pass an instance of it.'],
  ['a MongoDB database', new MongoClient('mongodb://nowhere.invalid').db(), 'Use mongoAdapter'],
  ['a string', NOWHERE, 'Pass new pg.Pool({ connectionString }).'],
  ['undefined', undefined, 'Some ORMs have a pool only after they have connected.'],
]

const refusal = (name: string, got: string) =>
  `postgresAdapter: ${name} must be a pool or client of pg, an instance of postgres (postgres.js), or a PGlite ` +
  `database (got ${got}).`

function refusalOf(handle: unknown, options?: object): string {
  try {
    postgresAdapter(handle as never, options)
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError)
    return (error as TypeError).message
  }
  return 'accepted'
}

describe('postgresAdapter refuses, and names what to pass instead:', () => {
  it.each(HANDLES)('%s', (name, handle, advice) => {
    expect(refusalOf(handle).startsWith(refusal('pool', name))).toBe(true)
    expect(refusalOf(handle)).toContain(advice)
    if (handle === undefined) return
    expect(refusalOf(pool, { readPool: handle }).startsWith(refusal('readPool', name))).toBe(true)
  })

  // The structure of a client that can't be generated here: see docs/your-orm.md.
  it('a Prisma client', () => {
    const client = { $connect() {}, $queryRaw() {}, $executeRaw() {}, $transaction() {} }
    expect(refusalOf(client)).toBe(
      `${refusal('pool', 'a Prisma client')} Pass the pg Pool of its PrismaPg adapter.`,
    )
  })

  it.each([null, 7, {}, [], { query: () => {} }, () => {}])('%o, which it does not recognize', (handle) => {
    expect(refusalOf(handle)).toMatch(/^postgresAdapter: pool must be .* \(got .*\)\.$/)
  })

  it('a URL without repeating it, because it can contain a password', () => {
    expect(refusalOf('postgres://user:secret@host/db')).not.toContain('secret')
    expect(refusalOf(pool, { readPool: 'postgres://user:secret@host/db' })).not.toContain('secret')
  })
})

describePostgres('postgresAdapter refuses handles of transactions:', (url) => {
  const own = new pg.Pool({ connectionString: url })
  afterAll(() => own.end())

  it('a TypeORM QueryRunner', async () => {
    const source = await new DataSource({ type: 'postgres', url }).initialize()
    const runner = source.createQueryRunner()
    expect(refusalOf(runner)).toContain('got a TypeORM QueryRunner). Pass await queryRunner.connect()')
    await source.destroy()
  })

  it('a knex transaction', async () => {
    const database = knex({ client: 'pg', connection: url })
    await database.transaction(async (trx) => {
      await trx.raw('SELECT 1')
      expect(refusalOf(trx)).toContain('got a knex instance')
    })
    await database.destroy()
  })

  it('a Kysely transaction', async () => {
    const database = new Kysely({ dialect: new PostgresDialect({ pool: own }) })
    await database.transaction().execute(async (trx) => {
      await Promise.resolve()
      expect(refusalOf(trx)).toContain('got a Kysely instance')
    })
  })

  it('a Sequelize transaction', async () => {
    const sequelize = new Sequelize(url, { dialect: 'postgres', logging: false })
    await sequelize.transaction(async (transaction) => {
      await Promise.resolve()
      expect(refusalOf(transaction)).toContain('got a Sequelize transaction). Pass transaction.connection')
    })
    await sequelize.close()
  })

  it('a drizzle transaction', async () => {
    await drizzle(own).transaction(async (tx) => {
      await Promise.resolve()
      expect(refusalOf(tx)).toContain('got a drizzle transaction')
    })
  })
})
