import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ConformanceOptions } from '@svc/db/conformance'
import { collectTests } from './collect-tests.js'
import { SCRIPTS, overDriver } from './mutants/mutant.js'

/** Loses the leftover of whatever is released. */
const forgetful = overDriver((driver) => ({
  async release(command) {
    const result = await driver.release(command)
    if (result.row) await driver.forgetLeftover(result.row.attemptId)
    return result
  },
}))

/** Lets two scopes have a key, as long as they ask at once. */
const hasty = overDriver((driver) => ({
  async reserve(command) {
    const seen = await driver.find(command)
    await new Promise((resolve) => setImmediate(resolve))
    const now = await driver.findPending({ ...command, id: null, uploadId: null })
    if (!seen && now) await driver.release({ ...command, scope: null, id: null, uploadId: null })
    return driver.reserve(command)
  },
}))

async function reportOf(title: string, options: Omit<ConformanceOptions, 'name' | 'test'>): Promise<string> {
  const test = collectTests({ name: 'broken', ...options }).find((each) => each.title === title)
  if (!test) throw new Error(`There is no test "${title}".`)
  return test.run().then(
    () => 'passed',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}

/** The part of a report that tells what was called, without the counts before it. */
const scriptOf = (report: string) => report.split('\n').slice(2, -3).join('\n')

describe('the report of a script that fails', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('tells the calls, as few and as simple as can be, and what was expected', async () => {
    const report = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 1 })
    expect(scriptOf(report)).toMatch(
      /^1\. reserve\(\{ scope: "alice", bucket: "bucket", key: "k.", declaredSize: 0, expiresAt: T\+1h, .* → pending #1\n2\. release\(.*\) → pending #1\nAfter that: listLeftovers\(\{ limit: 2 \}\), page by page\n\[0\]: expected \[\{ attemptId: #1, .*got \[\]$/s,
    )
  })

  it('says how to run it again, which shows the same', async () => {
    const first = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 7 })
    const [, seed, path] = /storeConformance\(\{ …, seed: (\d+), path: "(\d+)" \}\)/.exec(first) ?? []
    expect(seed).toBe('7')
    const again = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 7, path: path! })
    expect(scriptOf(again)).toBe(scriptOf(first))
    vi.stubEnv('CONFORMANCE_SEED', '7')
    const byEnvironment = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful })
    expect(byEnvironment).toBe(first)
  })

  it('tells calls that ran at once by their callers', async () => {
    const report = await reportOf(SCRIPTS.overOneKey, { createStore: hasty, seed: 1 })
    expect(report).toMatch(/At once:\n {3}caller 1:\n {6}reserve\(.*\) → .*\n {3}caller 2:\n {6}reserve\(/s)
    expect(report).toContain('No order of these calls gives these answers')
  })

  it('shows the first script that fails where it shall not be shortened', async () => {
    const report = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 1, shrink: false })
    expect(report).toContain('shrunk 0 times')
  })
})
