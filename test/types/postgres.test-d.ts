import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import { describe, expectTypeOf, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import {
  postgresAdapter,
  postgresSchema,
  type PGliteDatabase,
  type PostgresAdapterOptions,
  type PostgresPool,
} from '@svc/db/postgres'

declare const pool: pg.Pool

describe('postgresAdapter()', () => {
  it('takes a pool or client of pg, a PGlite database, and whatever has the same methods', () => {
    expectTypeOf(postgresAdapter(pool)).toEqualTypeOf<StorageObjectStore>()
    postgresAdapter(new pg.Client())
    postgresAdapter(new PGlite())
    postgresAdapter({} as pg.PoolClient)
    postgresAdapter({} as PostgresPool)
    postgresAdapter({} as PGliteDatabase)
    // @ts-expect-error a URL is no pool
    postgresAdapter('postgres://localhost')
    // @ts-expect-error nothing to connect with
    postgresAdapter({ query: async () => ({ rows: [] }) })
    // @ts-expect-error a pool is needed
    postgresAdapter()
    // @ts-expect-error the class instead of a pool
    postgresAdapter(pg.Pool)
  })

  it('takes null and undefined for an option that is left out', () => {
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

  it('takes no other option, and none of another type', () => {
    // @ts-expect-error no such option
    postgresAdapter(pool, { tablePrefix: 'files_' })
    // @ts-expect-error a schema is a name
    postgresAdapter(pool, { schema: 7 })
    // @ts-expect-error a pool, not its URL
    postgresAdapter(pool, { readPool: 'postgres://localhost' })
    // @ts-expect-error yes or no
    postgresAdapter(pool, { namedStatements: 'yes' })
    // @ts-expect-error a clock tells a Date
    postgresAdapter(pool, { now: () => Date.now() })
    // @ts-expect-error the schema is an option
    postgresAdapter(pool, 'files')
  })
})

describe('postgresSchema()', () => {
  it('is text, for a schema', () => {
    expectTypeOf(postgresSchema()).toEqualTypeOf<string>()
    postgresSchema({ schema: 'files' })
    postgresSchema({ schema: null })
    // @ts-expect-error the text depends on nothing else
    postgresSchema({ namedStatements: false })
  })
})
