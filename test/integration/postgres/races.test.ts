import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { CALLERS, PROCESSES, raceTests } from '../races/race-tests.js'
import { raceProcesses, type RaceProcesses } from '../races/run-race.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './schemas.js'

describePostgres(`races of ${PROCESSES} processes with ${CALLERS} connections each`, (serverUrl) => {
  // Its own database, because Postgres counts deadlocks per database and other tests cause some.
  const name = `race_${randomBytes(6).toString('hex')}`
  const url = new URL(`/${name}`, serverUrl).href
  const server = poolOf(serverUrl, { max: 1 })
  const pool = poolOf(url)
  let processes: RaceProcesses
  let schema: string
  beforeAll(async () => {
    await server.query(`CREATE DATABASE ${name}`)
    processes = await raceProcesses(fileURLToPath(new URL('./race-process.ts', import.meta.url)))
  })
  beforeEach(async () => {
    schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterEach(async () => {
    await dropSchema(pool, schema)
    expect(await numberOfDeadlocks()).toBe(0)
  })
  afterAll(async () => {
    processes.remove()
    await pool.end()
    await server.query(`DROP DATABASE ${name}`)
    await server.end()
  })

  raceTests(() => ({
    processes,
    connection: { url, schema },
    store: postgresAdapter(pool, { schema }),
    findViolations: keysOfTwoScopes,
  }))

  async function keysOfTwoScopes(): Promise<unknown[]> {
    const { rows } = await pool.query<{ key: string }>(
      `SELECT key FROM ${quoted(schema)}.objects WHERE status <> 'deleted' GROUP BY bucket, key HAVING count(DISTINCT scope) > 1`,
    )
    return rows
  }

  async function numberOfDeadlocks(): Promise<number> {
    const { rows } = await pool.query<{ deadlocks: string }>(
      'SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()',
    )
    return Number(rows[0]!.deadlocks)
  }
})
