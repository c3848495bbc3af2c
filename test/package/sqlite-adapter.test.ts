import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runs } from '../long-runs.js'
import { findNode } from './node-version.js'
import { repository, runProgramWith } from './packed-package.js'

// Node 20 has no node:sqlite and runs no TypeScript.
const workspace = mkdtempSync(join(tmpdir(), 'svc-db-sqlite-'))
const node = await findNode(24, workspace)
afterAll(() => rmSync(workspace, { recursive: true, force: true }))
const skipped = typeof node === 'string' ? '' : ` (skipped: ${node.reason})`

describe.skipIf(typeof node !== 'string')(`examples/sqlite-adapter${skipped}`, () => {
  /** Runs a `node:test` file and expects at least this many tests, all of which pass. */
  async function expectToPass(file: string, atLeast: number): Promise<void> {
    // Most of the time on a disk is the wait for it, for databases of one test each.
    const inMemory = existsSync('/dev/shm') ? { TMPDIR: '/dev/shm' } : {}
    const variables = { RUNS: String(runs(5, 20)), ...inMemory }
    const args = ['--test', '--test-reporter=tap', file]
    const { output } = await runProgramWith(
      variables,
      repository,
      typeof node === 'string' ? node : '',
      ...args,
    )
    const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(output)?.[1])
    expect({ failed: count('fail'), output: count('fail') === 0 ? '' : output }).toEqual({
      failed: 0,
      output: '',
    })
    expect(count('pass')).toBeGreaterThanOrEqual(atLeast)
    expect(count('skipped')).toBe(0)
  }

  it('passes the conformance suite', () => expectToPass('test/package/sqlite-adapter/suite.ts', 400))

  it('keeps what the suite cannot see: plans, locks, several processes, crashes', () =>
    expectToPass('test/package/sqlite-adapter/checks.ts', 8))
})
