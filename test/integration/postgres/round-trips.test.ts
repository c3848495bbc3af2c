import type { StorageObjectStore } from '@svc/db'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { eventCalls } from './event-calls.js'
import { concurrentWrites, everyCall, type NamedCall } from './every-call.js'
import { describePostgres, dropSchema, migratedSchema, poolOf, quoted } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const now = () => new Date()

/** A schema before the built-in one in the search_path of some connections. */
const HOSTILE = `hostile_${process.pid}`

/**
 * Functions that would match calls of the adapter better than the built-in ones, if it looked them up by search_path.
 */
const trapsFor = (schema: string) => {
  const write = `${quoted(schema)}.scope_write_v2`
  const texts = (count: number) => Array<string>(count).fill('text').join()
  return [
    ['hashtextextended', 'text, int', 'bigint'],
    ['json_build_object', texts(4), 'json'],
    ['json_build_object', texts(6), 'json'],
    ['json_build_array', `uuid, uuid, ${texts(10)}, json`, 'json'],
    ['json_populate_recordset', `${write}, json`, `SETOF ${write}`],
    ['cardinality', `${write}[]`, 'int'],
    ['array_position', 'uuid[], uuid', 'int'],
    ['array_cat', 'bigint[], bigint[]', 'bigint[]'],
    ['count', 'uuid', 'bigint'],
    ['unnest', `${write}[]`, `SETOF ${write}`],
    ['times', 'float8, int', 'float8'],
  ]
}

async function openPg(url: string, options = '') {
  const client = new pg.Client({ connectionString: url, options })
  await client.connect()
  return client
}

/** Opens a connection that is known to the server, because a new one of postgres.js reads the array types first. */
async function openPostgresJs(url: string, options: { readonly prepare?: boolean } = {}) {
  const sql = postgres(url, { max: 1, ...options })
  await sql`SELECT 1`
  return sql
}

const CONNECTIONS = {
  pg: (url: string) => openPg(url),
  'pg with hostile functions': (url: string) => openPg(url, `-c search_path=${HOSTILE},public`),
  'postgres.js': (url: string) => openPostgresJs(url),
  'postgres.js with prepare: false': (url: string) => openPostgresJs(url, { prepare: false }),
}

describePostgres('each call makes one round trip', (url) => {
  const direct = poolOf(url)
  const schema = migratedSchema(direct, { events: true })
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await direct.query(`CREATE SCHEMA ${HOSTILE}`)
    const trap = "LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'a trap'; END $$"
    for (const [name, types, result] of trapsFor(schema)) {
      await direct.query(`CREATE FUNCTION ${HOSTILE}.${name}(${types}) RETURNS ${result} ${trap}`)
    }
    const operands = 'LEFTARG = float8, RIGHTARG = int'
    await direct.query(`CREATE OPERATOR ${HOSTILE}.* (${operands}, FUNCTION = ${HOSTILE}.times)`)
  })
  afterAll(async () => {
    await proxy.close()
    await dropSchema(direct, HOSTILE)
  })

  it('hostile functions precede the built-in ones', async () => {
    const client = await CONNECTIONS['pg with hostile functions'](url)
    for (const trapped of ["hashtextextended('a', 0)", '1.5::float8 * 2']) {
      await expect(client.query(`SELECT ${trapped}`)).rejects.toThrow('a trap')
    }
    await client.end()
  })

  describe.each([
    ['pg', true],
    ['pg', false],
    ['pg with hostile functions', true],
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
        const asks = driver.startsWith('postgres.js') && (!isPrepared || attempt === 'first')
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
    const sql = postgres(proxy.url, { connection: { search_path: `${HOSTILE},public` } })
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
