import { randomBytes } from 'node:crypto'
import { StorageError, type StorageObject } from '@svc/db'
import postgresJs from 'postgres'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { findServer, type RunningServer } from '../../servers/found-server.js'
import { pgbouncerOver } from '../../servers/pgbouncer.js'
import { HOT_SCOPES, type ProgramName } from '../races/programs.js'
import { race } from '../races/race-tests.js'
import { dropSchema, freshSchema, poolOf } from './schemas.js'

const PROCESSES = 4
const CALLERS = 10
const CLIENTS = PROCESSES * CALLERS
const CONNECTIONS = 10
/** Successful calls of each process in a race. */
const CALLS = 200

const postgres = inject('postgres')
const pooler = postgres.url === null ? postgres : await poolerOver(postgres.url)

/** Starts PgBouncer in front of a new database, so its connections can be counted. */
async function poolerOver(serverUrl: string) {
  const name = `pooled_${randomBytes(6).toString('hex')}`
  const server = poolOf(serverUrl, { max: 1 })
  await server.query(`CREATE DATABASE ${name}`)
  const found = await findServer(
    pgbouncerOver(new URL(`/${name}`, serverUrl).href, { connections: CONNECTIONS }),
  )
  const drop = async () => {
    await server.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await server.end()
  }
  if ('url' in found) return { ...found, stop: () => found.stop().then(drop) }
  await drop()
  console.warn(`Skipped: tests with PgBouncer. There is ${found.reason}`)
  return found
}

if ('stop' in pooler) {
  describe(`${CLIENTS} clients over ${CONNECTIONS} connections of PgBouncer`, () => behind(pooler))
} else {
  describe.skip(`PgBouncer (${'reason' in pooler ? pooler.reason : ''})`, () => {
    it('needs PostgreSQL and PgBouncer', () => {})
  })
}

function behind(server: RunningServer) {
  const { url } = server
  const pool = poolOf(url, { max: CLIENTS })
  let schema: string
  beforeEach(() => {
    schema = freshSchema()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })

  const unnamed = () => postgresAdapter(pool, { schema, namedStatements: false })
  const attempt = (scope: string, key: string) => ({
    scope,
    bucket: 'pooled',
    key,
    declaredSize: 5,
    expiresAt: new Date(Date.now() + 3_600_000),
  })

  async function raceOf(program: ProgramName) {
    await unnamed().migrate()
    const connection = { kind: 'postgres', url, schema, namedStatements: false } as const
    const report = await race(connection, program, { processes: PROCESSES, callers: CALLERS, calls: CALLS })
    expect(await unnamed().checkUsage()).toEqual([])
    return report
  }

  it('migrate() works, also for many concurrent callers', async () => {
    const results = await Promise.all(Array.from({ length: CLIENTS }, () => unnamed().migrate()))
    expect(results.filter(({ from }) => from === 0)).toHaveLength(1)
    expect(await unnamed().verify()).toEqual([])
    // Otherwise this would test direct connections.
    const { rows } = await pool.query<{ pid: number }>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`,
    )
    expect(rows.length).toBeLessThan(CLIENTS)
  })

  it('without named statements, a race at the limit of a quota is exact and has no errors', async () => {
    const { bytes, files, refused } = await raceOf('quota')
    expect(refused).toBeGreaterThan(0)
    const scopes = Object.keys(HOT_SCOPES)
    const usages = await Promise.all(scopes.map((scope) => unnamed().getScopeUsage(scope)))
    expect(usages.reduce((sum, usage) => sum + usage.bytes + usage.reservedBytes, 0)).toBe(bytes)
    expect(usages.reduce((sum, usage) => sum + usage.files + usage.reservedFiles, 0)).toBe(files)
  })

  it.each(['mix', 'owners', 'ledger'] as const)(
    'without named statements, the race "%s" has no errors',
    async (program) => {
      await raceOf(program)
    },
  )

  it.each<[string, { prepare?: boolean }, boolean]>([
    ['prepare: false', { prepare: false }, true],
    ['namedStatements: false', {}, false],
  ])('with postgres.js and %s, no call fails', async (_, options, namedStatements) => {
    const clients = Array.from({ length: CLIENTS }, () => postgresJs(url, { ...options, max: 1 }))
    const stores = clients.map((sql) => postgresAdapter(sql, { schema, namedStatements }))
    await Promise.all(stores.map((store) => store.migrate()))
    await Promise.all(
      stores.map(async (store, number) => {
        for (let round = 0; round < 10; round++) {
          const row = await store.reserve(attempt('of postgres.js', `${number}/${round}`))
          expect(await store.find(row)).toEqual(row)
        }
      }),
    )
    expect(await unnamed().countByScope('of postgres.js')).toBe(CLIENTS * 10)
    expect(await unnamed().checkUsage()).toEqual([])
    await Promise.all(clients.map((sql) => sql.end()))
  })

  it('a timeout of the pool is refused with a sentence that says where to set it', async () => {
    const timed = poolOf(url, { statement_timeout: 30_000 })
    await expect(postgresAdapter(timed, { schema }).ping()).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: expect.stringContaining('PgBouncer refused a startup parameter') as string,
      retryable: false,
    })
    await timed.end()
  })

  it('with named statements, calls fail with an error that names the option, and never return a wrong result', async () => {
    await unnamed().migrate()
    // Each client prepares its statements on whichever server connection the pooler assigns, and misses them on the
    // next.
    const clients = Array.from({ length: CLIENTS }, () => poolOf(url, { max: 1 }))
    const acknowledged: StorageObject[] = []
    const errors: unknown[] = []
    await Promise.all(
      clients.map(async (client, number) => {
        const store = postgresAdapter(client, { schema })
        for (let round = 0; round < 10; round++) {
          const input = attempt(`scope ${number}`, `${number}/${round}`)
          try {
            const row = await store.reserve(input)
            expect(row).toMatchObject({ ...input, status: 'pending' })
            acknowledged.push(row)
            expect(await store.find(row)).toEqual(row)
          } catch (error) {
            errors.push(error)
          }
        }
      }),
    )
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors) {
      expect(error).toBeInstanceOf(StorageError)
      expect(error).toMatchObject({
        code: 'DATABASE_UNAVAILABLE',
        message: expect.stringContaining('namedStatements: false') as string,
      })
    }
    for (const row of acknowledged) expect(await unnamed().find(row)).toEqual(row)
    const counts = await Promise.all(clients.map((_, number) => unnamed().countByScope(`scope ${number}`)))
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(acknowledged.length)
    expect(await unnamed().checkUsage()).toEqual([])
    await Promise.all(clients.map((client) => client.end()))
  })
}
