import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ConformanceOptions } from '@svc/db/conformance'
import { collectTests } from './collect-tests.js'
import { SCRIPTS, overDriver } from './mutants/mutant.js'

/** Loses the leftover of every release. */
const forgetful = overDriver((driver) => ({
  async release(command) {
    const result = await driver.release(command)
    if (result.row) await driver.forgetLeftover(result.row.attemptId)
    return result
  },
}))

/** Gives a key to two scopes if they reserve it concurrently. */
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
  if (!test) throw new Error(`The suite has no test "${title}".`)
  return test.run().then(
    () => 'passed',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}

/** The calls of a report, without the counts before them and the instructions after them. */
const scriptOf = (report: string) => report.split('\n').slice(2, -3).join('\n')

describe('the report of a failing script', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('shows the shortest failing calls and the expected result', async () => {
    const report = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 1 })
    expect(scriptOf(report)).toMatch(
      /^1\. reserve\(\{ scope: "alice", bucket: "bucket", key: "k.", declaredSize: 0, expiresAt: T\+1h, .* → pending #1\n2\. release\(.*\) → pending #1\nAfter that: listLeftovers\(\{ limit: 2 \}\), page by page\n\[0\]: expected \[\{ attemptId: #1, .*got \[\]$/s,
    )
  })

  it('shows the options that repeat the failure', async () => {
    const first = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 7 })
    const [, seed, path] = /storeConformance\(\{ …, seed: (\d+), path: "(\d+)" \}\)/.exec(first) ?? []
    expect(seed).toBe('7')
    const again = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 7, path: path! })
    expect(scriptOf(again)).toBe(scriptOf(first))
    vi.stubEnv('CONFORMANCE_SEED', '7')
    const byEnvironment = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful })
    expect(byEnvironment).toBe(first)
  })

  it('shows concurrent calls by caller', async () => {
    const report = await reportOf(SCRIPTS.overOneKey, { createStore: hasty, seed: 1 })
    expect(report).toMatch(
      /Concurrently:\n {3}caller 1:\n {6}reserve\(.*\) → .*\n {3}caller 2:\n {6}reserve\(/s,
    )
    expect(report).toContain('No order of these calls gives these results')
  })

  it('shows the first failing script if `shrink` is false', async () => {
    const report = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: 1, shrink: false })
    expect(report).toContain('shrunk 0 times')
  })
})
