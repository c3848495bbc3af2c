import { existsSync } from 'node:fs'
import { expect, it } from 'vitest'
import { findNode } from './environments.js'
import { repository, runProgramWith } from './programs.js'

// Node 20 has no node:sqlite and runs no TypeScript.
const { path, skipped } = await findNode(24)

it.skipIf(path === null).each([
  ['passes the conformance suite', 'suite.ts', 400],
  ['keeps what the suite cannot see: plans, locks, several processes, crashes', 'checks.ts', 8],
])(`examples/sqlite-adapter %s${skipped}`, async (_, file, atLeast) => {
  // Most of the time on a disk is the wait for it, for databases of one test each.
  const inMemory = existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}
  const args = ['--test', '--test-reporter=tap', `test/package/sqlite-adapter/${file}`]
  const { output } = await runProgramWith(inMemory, repository, path!, ...args)
  const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(output)?.[1])
  expect({ failed: count('fail'), skipped: count('skipped') }, output).toEqual({ failed: 0, skipped: 0 })
  expect(count('pass')).toBeGreaterThanOrEqual(atLeast)
})
