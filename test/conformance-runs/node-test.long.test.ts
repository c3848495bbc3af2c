import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** Runs the suite under Node's own test runner, bundled into one file. */
describe('the suite under node:test', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-db-conformance-'))
  const file = join(folder, 'suite.mjs')
  afterAll(() => rmSync(folder, { recursive: true }))

  beforeAll(async () => {
    await build({
      entryPoints: [fileURLToPath(new URL('under-node-test.ts', import.meta.url))],
      outfile: file,
      bundle: true,
      platform: 'node',
      format: 'esm',
    })
  })

  function run(environment: Record<string, string>) {
    const { stdout, status } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], {
      // Without this process's environment, so the child doesn't report to this test run.
      env: { PATH: process.env['PATH'], ...environment },
      encoding: 'utf8',
    })
    const count = (what: string) => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1])
    return { status, stdout, passed: count('pass'), failed: count('fail') }
  }

  it('passes with a correct store', () => {
    const { status, stdout, passed, failed } = run({})
    expect(status, stdout).toBe(0)
    expect(failed).toBe(0)
    expect(passed).toBeGreaterThan(200)
  })

  it('fails with a broken store', () => {
    const { status, failed } = run({ BROKEN: '1' })
    expect(status).not.toBe(0)
    expect(failed).toBeGreaterThan(5)
  })
})
