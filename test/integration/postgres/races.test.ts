import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { HOT_SCOPES, type ProgramName } from '../races/programs.js'
import { raceProcesses, type RaceProcesses } from '../races/run-race.js'
import { describePostgres, dropSchema, freshSchema, poolOf, quoted } from './places.js'

const PROCESSES = 4
const CALLERS = 16
const MILLISECONDS = 3000

describePostgres('races of 4 processes with 16 connections each', (serverUrl) => {
  // Of its own, because deadlocks are counted by database, and other tests make some.
  const name = `race_${randomBytes(6).toString('hex')}`
  const url = new URL(`/${name}`, serverUrl).href
  const server = poolOf(serverUrl, { max: 1 })
  const pool = poolOf(url)
  let processes: RaceProcesses
  let schema: string
  beforeAll(async () => {
    await server.query(`CREATE DATABASE ${name}`)
    processes = await raceProcesses(fileURLToPath(new URL('./race-place.ts', import.meta.url)))
  })
  beforeEach(async () => {
    schema = freshSchema()
    await postgresAdapter(pool, { schema }).migrate()
  })
  afterEach(() => dropSchema(pool, schema))
  afterAll(async () => {
    processes.remove()
    await pool.end()
    await server.query(`DROP DATABASE ${name}`)
    await server.end()
  })

  const store = () => postgresAdapter(pool, { schema })

  /** Runs the race and looks on meanwhile; the faults that nobody may see, then or afterwards, are none. */
  async function race(program: ProgramName) {
    const task = { program, callers: CALLERS, milliseconds: MILLISECONDS, place: { url, schema } }
    const deadlocks = await numberOfDeadlocks()
    let over = false
    const report = processes.race(PROCESSES, task).finally(() => (over = true))
    let looks = 0
    while (!over) {
      expect(await keysOfTwoScopes()).toEqual([])
      for (const [scope, limits] of Object.entries(HOT_SCOPES)) {
        const { bytes, files, reservedBytes, reservedFiles } = await store().getScopeUsage(scope)
        const { maxBytes, maxFiles } = { maxBytes: Infinity, maxFiles: Infinity, ...limits }
        expect(bytes + reservedBytes).toBeLessThanOrEqual(maxBytes)
        expect(files + reservedFiles).toBeLessThanOrEqual(maxFiles)
      }
      looks++
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    const result = await report
    expect(result.faults).toEqual([])
    expect(result.acknowledged).toBeGreaterThan(100)
    expect(looks).toBeGreaterThan(10)
    expect(await keysOfTwoScopes()).toEqual([])
    expect(await store().checkUsage()).toEqual([])
    expect(await numberOfDeadlocks()).toBe(deadlocks)
    return result
  }

  it('at the edge of a quota nothing is over it, and all that was acknowledged is there', async () => {
    const { bytes, files, refused } = await race('quota')
    expect(refused).toBeGreaterThan(100)
    const usages = await Promise.all(Object.keys(HOT_SCOPES).map((scope) => store().getScopeUsage(scope)))
    expect(usages.reduce((sum, usage) => sum + usage.bytes + usage.reservedBytes, 0)).toBe(bytes)
    expect(usages.reduce((sum, usage) => sum + usage.files + usage.reservedFiles, 0)).toBe(files)
  })

  it('a key never has two owners', async () => {
    expect((await race('owners')).refused).toBeGreaterThan(100)
  })

  it('all kinds of writes over the same few keys leave the sums right', async () => {
    await race('mix')
  })

  it('a lapsed reservation is either confirmed or purged, and by one call', async () => {
    const { ends } = await race('lapses')
    expect(ends.length).toBeGreaterThan(100)
    expect(new Set(ends).size).toBe(ends.length)
  })

  it('what was acknowledged can be read back', async () => {
    await race('ledger')
  })

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
