import type pg from 'pg'
import postgres, { type Options, type PostgresType, type Sql, type TransactionSql } from 'postgres'
import { afterAll, beforeAll } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

export type InstanceOptions = Options<Record<string, PostgresType>>

/** A migrated schema, and instances of postgres.js for it. */
export interface PostgresJsServer {
  readonly url: string
  readonly schema: string
  /** A pool of `pg`, another driver for the same schema. */
  readonly pool: pg.Pool
  /** Stands between an instance and the server. Available in tests. */
  readonly proxy: WireProxy
  /** Opens an instance that is closed after the tests. */
  readonly open: (options?: InstanceOptions, to?: string) => Sql
  readonly storeOf: (sql: Sql | TransactionSql) => StorageObjectStore
}

/** Describes tests of postgres.js on the shared server, or a visible skip if there is none. */
export function describePostgresJs(title: string, body: (server: PostgresJsServer) => void): void {
  describePostgres(title, (url) => {
    const schema = freshSchema()
    const pool = poolOf(url)
    const opened: Sql[] = []
    let proxy: WireProxy
    beforeAll(async () => {
      proxy = await wireProxy(url)
      await postgresAdapter(pool, { schema }).migrate()
    })
    afterAll(async () => {
      await Promise.all(opened.map((sql) => sql.end({ timeout: 0 })))
      await proxy.close()
      await dropSchema(pool, schema)
      await pool.end()
    })

    body({
      url,
      schema,
      pool,
      get proxy() {
        return proxy
      },
      open(options = {}, to = url) {
        const sql: Sql = postgres(to, options)
        opened.push(sql)
        return sql
      },
      storeOf: (sql) => postgresAdapter(sql, { schema }),
    })
  })
}
