import { PGlite } from '@electric-sql/pglite'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import type { Knex } from 'knex'
import type { Kysely } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import type { Sequelize } from 'sequelize'
import type { DataSource, QueryRunner } from 'typeorm'
import { describe, expectTypeOf, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import {
  postgresAdapter,
  postgresSchema,
  type PGliteDatabase,
  type PostgresAdapterOptions,
  type PostgresPool,
  type PostgresSql,
} from '@svc/db/postgres'

declare const pool: pg.Pool

describe('postgresAdapter()', () => {
  it('accepts a pool or client of pg, a PGlite database, and objects with the same methods', () => {
    expectTypeOf(postgresAdapter(pool)).toEqualTypeOf<StorageObjectStore>()
    postgresAdapter(new pg.Client())
    postgresAdapter(new PGlite())
    postgresAdapter({} as pg.PoolClient)
    postgresAdapter({} as PostgresPool)
    postgresAdapter({} as PGliteDatabase)
    // @ts-expect-error a URL is not a pool
    postgresAdapter('postgres://localhost')
    // @ts-expect-error connect() is missing
    postgresAdapter({ query: async () => ({ rows: [] }) })
    // @ts-expect-error the pool is required
    postgresAdapter()
    // @ts-expect-error a class is not a pool
    postgresAdapter(pg.Pool)
  })

  it('accepts an instance of postgres.js with any types, and what its transactions get', () => {
    const sql = postgres()
    const withTypes = postgres({ types: { bigint: postgres.BigInt }, transform: postgres.camel })
    postgresAdapter(sql)
    postgresAdapter(withTypes, { readPool: sql })
    void sql.begin((tx) => postgresAdapter(tx).ping())
    void withTypes.begin('read write', (tx) => tx.savepoint((inner) => postgresAdapter(inner).ping()))
    void sql.reserve().then((connection) => postgresAdapter(connection))
    postgresAdapter({} as PostgresSql)
    postgresAdapter(() => (Math.random() > 0.5 ? sql : undefined))
  })

  it('rejects the handles of ORMs', () => {
    // @ts-expect-error pass dataSource.driver.master
    postgresAdapter({} as DataSource)
    // @ts-expect-error pass await queryRunner.connect()
    postgresAdapter({} as QueryRunner)
    // @ts-expect-error knex needs a bridge
    postgresAdapter({} as Knex)
    // @ts-expect-error knex needs a bridge
    postgresAdapter({} as Knex.Transaction)
    // @ts-expect-error pass the pool
    postgresAdapter({} as Kysely<object>)
    // @ts-expect-error Sequelize needs a bridge
    postgresAdapter({} as Sequelize)
    // @ts-expect-error pass db.$client
    postgresAdapter({} as NodePgDatabase & { $client: pg.Pool })
    // @ts-expect-error it may not be connected yet
    postgresAdapter(undefined as pg.Pool | undefined)
    postgresAdapter(({} as NodePgDatabase & { $client: pg.Pool }).$client)
  })

  it('accepts null and undefined for every option', () => {
    const options: PostgresAdapterOptions = { schema: null, readPool: null, namedStatements: null, now: null }
    postgresAdapter(pool, options)
    postgresAdapter(pool, {
      schema: undefined,
      readPool: undefined,
      namedStatements: undefined,
      now: undefined,
    })
    postgresAdapter(pool, null)
    postgresAdapter(pool, { readPool: new PGlite() } as const)
  })

  it('rejects unknown options and wrong types', () => {
    // @ts-expect-error unknown option
    postgresAdapter(pool, { tablePrefix: 'files_' })
    // @ts-expect-error schema is a string
    postgresAdapter(pool, { schema: 7 })
    // @ts-expect-error readPool is a pool, not a URL
    postgresAdapter(pool, { readPool: 'postgres://localhost' })
    // @ts-expect-error namedStatements is a boolean
    postgresAdapter(pool, { namedStatements: 'yes' })
    // @ts-expect-error now returns a Date
    postgresAdapter(pool, { now: () => Date.now() })
    // @ts-expect-error the options are an object
    postgresAdapter(pool, 'files')
  })
})

describe('postgresSchema()', () => {
  it('returns a string and accepts only a schema', () => {
    expectTypeOf(postgresSchema()).toEqualTypeOf<string>()
    postgresSchema({ schema: 'files' })
    postgresSchema({ schema: null })
    // @ts-expect-error unknown option
    postgresSchema({ namedStatements: false })
  })
})
