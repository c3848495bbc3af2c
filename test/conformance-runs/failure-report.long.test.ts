import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConformanceOptions } from '@svc/db/conformance'
import { collectTests } from './collect-tests.js'
import { memoryAdapter } from '@svc/db/memory'
import { SCRIPTS, overDriver } from '../broken-stores/mutant.js'
import { hanging } from './hanging-store.js'

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
  // With `numRuns`, a busy machine doesn't end the search early.
  const test = collectTests({ name: 'broken', numRuns: 100, ...options }).find((each) => each.title === title)
  if (!test) throw new Error(`The suite has no test "${title}".`)
  return test.run().then(
    () => 'passed',
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
}

/** Fails in the first script, so the search is short. */
const SEED = 7

/** The reports of two broken stores, which cost the most: each is made once. */
const reports = new Map<string, Promise<string>>()
const made = (name: string, report: () => Promise<string>): Promise<string> =>
  reports.get(name) ?? reports.set(name, report()).get(name)!
const reportOfForgetful = () =>
  made('forgetful', () => reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: SEED }))
const reportOfHasty = () => made('hasty', () => reportOf(SCRIPTS.overOneKey, { createStore: hasty, seed: 1 }))
const pathIn = (report: string) => /path: "([^"]+)"/.exec(report)![1]!

/** The calls of a report, without the counts before them and the instructions after them. */
const scriptOf = (report: string) => report.split('\n\nAs code:')[0]!.split('\n').slice(2).join('\n')

describe('the report of a failing script', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  it('shows the shortest failing calls and the expected result', async () => {
    const report = await reportOfForgetful()
    expect(scriptOf(report)).toMatch(
      /^1\. reserve\(\{ scope: "alice", bucket: "bucket", key: "k.", declaredSize: 0, expiresAt: T\+1h, .* → pending #1\n2\. release\(.*\) → pending #1\nAfter that: listLeftovers\(\{ limit: 2 \}\), page by page\n\[0\]: expected \[\{ attemptId: #1, .*got \[\]$/s,
    )
  })

  it('shows the options that repeat the failure', async () => {
    const first = await reportOfForgetful()
    const [, seed, path] = /storeConformance\(\{ …, seed: (\d+), path: "([^"]+)" \}\)/.exec(first) ?? []
    expect(seed).toBe(`${SEED}`)
    const again = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful, seed: SEED, path: path! })
    expect(again).toContain('failed (repeated)')
    expect(scriptOf(again)).toBe(scriptOf(first))
    expect(again).toContain(`path: "${path}"`)
    vi.stubEnv('CONFORMANCE_SEED', `${SEED}`)
    const byEnvironment = await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful })
    expect(byEnvironment).toBe(first)
    vi.stubEnv('CONFORMANCE_PATH', path)
    expect(await reportOf(SCRIPTS.aboutAttempts, { createStore: forgetful })).toBe(again)
  })

  it('repeats the shortest script alone, in one run', async () => {
    const first = await reportOfForgetful()
    const path = pathIn(first)
    let stores = 0
    const createStore: typeof forgetful = (context) => (stores++, forgetful(context))
    const again = await reportOf(SCRIPTS.aboutAttempts, { createStore, seed: SEED, path })
    expect(scriptOf(again)).toBe(scriptOf(first))
    expect(stores).toBe(1)
    const other = collectTests({ name: 'broken', createStore, seed: SEED, path })
    for (const { title, run } of other) if (title.startsWith('scripts: of concurrent')) await run()
    expect(stores).toBe(1)
  })

  it('repeats a script of concurrent calls', async () => {
    const first = await reportOfHasty()
    const again = await reportOf(SCRIPTS.overOneKey, { createStore: hasty, seed: 1, path: pathIn(first) })
    expect(scriptOf(again)).toBe(scriptOf(first))
  })

  it('shows the script as code that fails the same way', async () => {
    const report = await reportOfForgetful()
    const code = /As code:\n\n(.*?)\n\n/s.exec(report)![1]!
    // eslint-disable-next-line @typescript-eslint/no-implied-eval -- runs the code that the report shows
    const run = new Function(
      'createStore',
      `return (async () => { ${code}\nreturn store.listLeftovers() })()`,
    ) as (createStore: typeof forgetful) => Promise<unknown[]>
    expect(await run(forgetful)).toEqual([])
    expect(await run(memoryAdapter)).toHaveLength(1)
  })

  it('refuses a path that no report printed', () => {
    expect(() => collectTests({ name: 'broken', createStore: forgetful, path: 'yesterday' })).toThrow(
      TypeError,
    )
  })

  it('shows concurrent calls by caller', async () => {
    const report = await reportOfHasty()
    expect(report).toMatch(/Concurrently:\n {3}caller 1:\n {6}\w+\(.*\) → .*\n {3}caller 2:\n {6}\w+\(/s)
    expect(report).toContain('No order of these calls gives these results')
  })

  it('shows the first failing script if `shrink` is false', async () => {
    const report = await reportOf(SCRIPTS.aboutAttempts, {
      createStore: forgetful,
      seed: SEED,
      shrink: false,
    })
    expect(report).toContain('shrunk 0 times')
  })
})

describe('the report of a script in which a call does not respond', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('shows the calls up to that call, without a search for a shorter script', async () => {
    const { createStore, call } = hanging('confirm')
    const report = await reportOf(SCRIPTS.aboutAttempts, { createStore, seed: 1 })
    expect(report).toContain('shrunk 0 times')
    expect(report).toMatch(
      /^1\. .*\n(\d+\. .*\n)*\d+\. confirm\(.*\) → no response\nThe last call: `confirm` did not respond within 60 s/m,
    )
    expect(report).toMatch(/As code:\n.*await store\.confirm\([^\n]*\n\n/s)
    expect(report).toContain('CONFORMANCE_SEED=1')
    expect(call).toHaveBeenCalledOnce()
  })

  it('shows concurrent calls', async () => {
    const { createStore, call } = hanging('release')
    const report = await reportOf(SCRIPTS.overOneKey, { createStore, seed: 1 })
    expect(report).toContain('shrunk 0 times')
    expect(report).toMatch(
      / {3}caller \d:\n( {6}.*\n)* {6}release\(.*\) → no response\n(.*\n)*`release` did not/,
    )
    expect(report).toMatch(/As code:\n.*await store\.release\(/s)
    expect(call).toHaveBeenCalled()
  })

  it.each(['verify', 'listByScope', 'settleEvents'] as const)(
    'shows the calls before %s reads the state',
    async (name) => {
      const { createStore } = hanging(name)
      const report = await reportOf(SCRIPTS.aboutQuotas, { createStore, seed: 1 })
      expect(report).toMatch(
        new RegExp(`^1\\. .*\\) → (.*\\n)*.*\`${name}\` did not respond within 60 s`, 'm'),
      )
      expect(report).toContain('shrunk 0 times')
    },
  )

  it('shows what workers that claim events did before', async () => {
    const report = await reportOf(SCRIPTS.ofWorkers, {
      createStore: hanging('settleEvents').createStore,
      seed: 1,
    })
    expect(report).toMatch(/^worker \d claims .*\n(.*\n)*`settleEvents` did not respond within 60 s/m)
    expect(report).toContain('shrunk 0 times')
  })
})

describe('the report of a failing case', () => {
  it('numbers ids, and shows only the first of many differences', async () => {
    const doubling = overDriver((driver) => ({
      async list(query) {
        const rows = await driver.list(query)
        return rows.length > 4 ? [...rows, rows[4]!] : rows
      },
    }))
    const report = await reportOf('listByScope: returns the newest rows first, for every status', {
      createStore: doubling,
    })
    expect(report).toBe('pending rows: expected 6 items, got 7: [6] is unexpected (#1)')
  })

  it('cuts long values', async () => {
    const rambling = overDriver((driver) => ({
      usage: async (scope) => ({ ...(await driver.usage(scope)), history: numbersOf(5000) }),
    }))
    const report = await reportOf('getScopeUsage: returns zeros for an unknown scope', {
      createStore: rambling,
    })
    expect(report).toContain('got an unexpected field "history" ([0, 1, 2,')
    expect(report).toContain('… 4988 more')
    expect(report.length).toBeLessThan(200)
  })
})

const numbersOf = (count: number) => Array.from({ length: count }, (_, number) => number)
