import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { describePostgres, poolOf, quoted } from '../postgres/schemas.js'
import { buildCommand, ended, jsonLines, type BuiltCommand } from './command.js'
import { seededSchema, type SeededSchema } from './seeded-schema.js'

const ROWS = 4000

describePostgres('ctrl-C', (url) => {
  const pool = poolOf(url)
  let command: BuiltCommand
  let place: SeededSchema
  beforeAll(async () => {
    command = await buildCommand()
  })
  beforeEach(async () => {
    place = await seededSchema(pool)
    await place.addLapsed('user:ann', ROWS)
  })
  afterEach(() => place.drop())
  afterAll(async () => {
    command.remove()
    await pool.end()
  })

  /** Ends it while it waits for a reader of its output, which begins to read only then. */
  async function interrupt(signal: 'SIGINT' | 'SIGTERM', ...args: string[]) {
    const child = command.start([...args, '--json', '--schema', place.schema], { DATABASE_URL: url })
    child.stdin.end()
    await once(child.stdout, 'readable')
    child.kill(signal)
    return ended(child)
  }

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    '(%s) between two steps of a purge leaves the rest, and says what was done',
    async (signal, code) => {
      const { exitCode, stdout, stderr } = await interrupt(signal, 'purge-expired', '--yes')
      const dropped = jsonLines(stdout).length
      expect(exitCode).toBe(code)
      expect(dropped).toBeGreaterThan(0)
      expect(dropped).toBeLessThan(ROWS)
      expect(await place.store.countByScope('user:ann')).toBe(ROWS - dropped)
      expect(await place.store.checkUsage()).toEqual([])
      const count = dropped.toLocaleString('en-US')
      expect(jsonLines(stderr).at(-1)).toEqual({
        message: `Dropped ${count} of 4,000 lapsed reservations; the others are as they were.`,
      })
    },
  )

  it('between two pages of a list ends it with whole lines', async () => {
    const { exitCode, stdout, stderr } = await interrupt('SIGINT', 'list', 'user:ann')
    expect(exitCode).toBe(130)
    const listed = jsonLines(stdout).length
    expect(listed % 1000).toBe(0)
    expect(listed).toBeLessThan(ROWS)
    expect(stderr).toContain('Stopped after')
  })

  it('while the database keeps it waiting waits for the step, and a second one doesn’t', async () => {
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query(`LOCK TABLE ${quoted(place.schema)}.objects IN ACCESS EXCLUSIVE MODE`)
      const child = command.start(['list', 'user:ann', '--json', '--schema', place.schema], {
        DATABASE_URL: url,
      })
      const result = ended(child)
      await untilItWaits()
      child.kill('SIGINT')
      await once(child.stderr, 'data')
      child.kill('SIGINT')
      const { exitCode, stdout, stderr } = await result
      expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' })
      expect(stderr).toMatch(/Stopping after the current step[\s\S]*Ended at once/)
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
  })

  async function untilItWaits(): Promise<void> {
    const waiting = `
      SELECT FROM pg_stat_activity
      WHERE application_name = 'svc-db' AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`
    while ((await pool.query(waiting, [quoted(place.schema)])).rowCount === 0)
      await new Promise((resolve) => setTimeout(resolve, 10))
  }
})
