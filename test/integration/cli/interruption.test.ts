import { once } from 'node:events'
import { beforeAll, expect, it } from 'vitest'
import { describePostgres, quoted } from '../postgres/schemas.js'
import { buildCommand, ended, jsonLines } from './command.js'
import { seededSchema } from './seeded-schema.js'

const ROWS = 4000

describePostgres('an interrupted command', (url) => {
  const command = buildCommand()
  const seeded = seededSchema(url)
  const { pool } = seeded
  beforeAll(async () => {
    await seeded.addExpired('user:ann', ROWS)
  })

  /** Sends a signal while the command waits for a reader of its output. Starts to read afterwards. */
  async function interrupt(signal: 'SIGINT' | 'SIGTERM', ...args: string[]) {
    const child = command.start([...args, '--json', '--schema', seeded.schema], { DATABASE_URL: url })
    child.stdin.end()
    await once(child.stdout, 'readable')
    child.kill(signal)
    return ended(child)
  }

  it('ends a list with whole lines', async () => {
    const { exitCode, stdout, stderr } = await interrupt('SIGINT', 'list', 'user:ann')
    expect(exitCode).toBe(130)
    const listed = jsonLines(stdout).length
    expect(listed % 1000).toBe(0)
    expect(listed).toBeLessThan(ROWS)
    expect(stderr).toContain('Stopped after')
  })

  it('waits for the current step, and stops immediately on a second signal', async () => {
    const holder = await pool.connect()
    try {
      await holder.query('BEGIN')
      await holder.query(`LOCK TABLE ${quoted(seeded.schema)}.objects IN ACCESS EXCLUSIVE MODE`)
      const child = command.start(['list', 'user:ann', '--json', '--schema', seeded.schema], {
        DATABASE_URL: url,
      })
      const result = ended(child)
      await untilBlocked()
      child.kill('SIGINT')
      await once(child.stderr, 'data')
      child.kill('SIGINT')
      const { exitCode, stdout, stderr } = await result
      expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: '' })
      expect(stderr).toMatch(/Stopping after the current step[\s\S]*Stopped immediately/)
    } finally {
      await holder.query('ROLLBACK')
      holder.release()
    }
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'ends a purge between two steps on %s, and reports how many rows it purged',
    async (signal, code) => {
      const before = await seeded.store.countByScope('user:ann')
      const { exitCode, stdout, stderr } = await interrupt(signal, 'purge-expired', '--yes')
      const dropped = jsonLines(stdout).length
      expect(exitCode).toBe(code)
      expect(dropped).toBeGreaterThan(0)
      expect(dropped).toBeLessThan(before)
      expect(await seeded.store.countByScope('user:ann')).toBe(before - dropped)
      expect(await seeded.store.checkUsage()).toEqual([])
      const [count, all] = [dropped, before].map((number) => number.toLocaleString('en-US'))
      expect(jsonLines(stderr).at(-1)).toEqual({
        message: `Purged ${count} of ${all} expired reservations; the others are unchanged.`,
      })
    },
  )

  async function untilBlocked(): Promise<void> {
    const waiting = `
      SELECT FROM pg_stat_activity
      WHERE application_name = 'svc-db' AND wait_event_type = 'Lock' AND strpos(query, $1) > 0`
    await expect.poll(async () => (await pool.query(waiting, [quoted(seeded.schema)])).rowCount).toBe(1)
  }
})
