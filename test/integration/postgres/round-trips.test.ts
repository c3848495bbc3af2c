import type { StorageObjectStore } from '@svc/db'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { eventCalls } from './event-calls.js'
import { concurrentWrites, everyCall, type NamedCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const now = () => new Date()

/** Opens a connection that is known to the server, because a new one of postgres.js reads the array types first. */
const CONNECTIONS = {
  async pg(url: string) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    return client
  },
  async 'postgres.js'(url: string) {
    const sql = postgres(url, { max: 1 })
    await sql`SELECT 1`
    return sql
  },
  async 'postgres.js with prepare: false'(url: string) {
    const sql = postgres(url, { max: 1, prepare: false })
    await sql`SELECT 1`
    return sql
  },
}

describePostgres('each call makes one round trip', (url) => {
  const schema = freshSchema()
  const direct = poolOf(url)
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await postgresAdapter(direct, { schema, events: true }).migrate()
  })
  afterAll(async () => {
    await proxy.close()
    await dropSchema(direct, schema)
    await direct.end()
  })

  describe.each([
    ['pg', true],
    ['pg', false],
    ['postgres.js', true],
    ['postgres.js', false],
    ['postgres.js with prepare: false', true],
  ] as const)('over %s, namedStatements: %s', (driver, namedStatements) => {
    let store: StorageObjectStore
    let connection: { end(): Promise<void> }
    beforeAll(async () => {
      const opened = await CONNECTIONS[driver](proxy.url)
      connection = opened
      store = postgresAdapter(opened, { schema, namedStatements, now, events: true })
    })
    // An open connection would keep the proxy from closing.
    afterAll(() => connection.end())

    const scope = `scope of ${driver}, ${namedStatements}`
    const counting = { name: 'countEvents', call: (store: StorageObjectStore) => store.countEvents() }
    const calls: NamedCall[] = [...everyCall(scope, now), ...eventCalls(scope, now), counting]
    it.each(calls)('$name', async ({ prepare, call }) => {
      await prepare?.(store)
      for (const attempt of ['first', 'second']) {
        proxy.roundTrips = 0
        proxy.descriptions = 0
        await call(store).catch((error: unknown) => {
          // Some calls succeed only once. Their refusal must be one round trip as well.
          if (attempt === 'first') throw error
        })
        expect(proxy.roundTrips).toBe(1)
        // postgres.js asks for the types of the parameters first, once for each prepared statement.
        const isPrepared = driver === 'postgres.js' && namedStatements
        const asks = driver !== 'pg' && (!isPrepared || attempt === 'first')
        expect(proxy.descriptions).toBeLessThanOrEqual(asks ? 1 : 0)
      }
    })

    it('migrate, if there is nothing to do', async () => {
      proxy.roundTrips = 0
      expect(await store.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
      // The catalogs, the version, and what may be missing.
      expect(proxy.roundTrips).toBe(3)
    })
  })

  it('concurrent writes of a scope over postgres.js share requests', async () => {
    const sql = postgres(proxy.url)
    const store = postgresAdapter(sql, { schema })
    const { prepare, call } = concurrentWrites('batched by postgres.js', now)
    await prepare!(store)
    await Promise.all(Array.from({ length: 10 }, () => sql`SELECT 1`))
    proxy.roundTrips = 0
    await call(store)
    // Nine calls. How many share a request depends on when the first responses arrive.
    expect(proxy.roundTrips).toBeLessThanOrEqual(6)
    await sql.end()
  })
})
