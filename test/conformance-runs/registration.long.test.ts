import { afterEach, describe, expect, it, vi } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { SCRIPTS } from '../broken-stores/mutant.js'
import { collectTests } from './collect-tests.js'
import { hanging } from './hanging-store.js'

const memory = { name: 'memory', createStore: memoryAdapter }

describe('storeConformance', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
    vi.unstubAllEnvs()
  })

  it('requires a test runner if there are no globals', () => {
    vi.stubGlobal('describe', undefined)
    vi.stubGlobal('it', undefined)
    expect(() => storeConformance(memory)).toThrow(TypeError)
    expect(() => storeConformance(memory)).toThrow('test: { describe, it }')
  })

  it('uses the global describe and it by default', () => {
    const titles: string[] = []
    vi.stubGlobal('describe', (title: string, body: () => void) => {
      titles.push(title)
      body()
    })
    vi.stubGlobal('it', () => undefined)
    storeConformance(memory)
    expect(titles[0]).toBe('memory: StorageObjectStore')
    expect(titles).toContain('reserve')
  })

  it('registers every test under a unique title', () => {
    const titles = collectTests(memory).map(({ title }) => title)
    expect(new Set(titles).size).toBe(titles.length)
    expect(titles.length).toBeGreaterThan(250)
  })

  it('creates a store for every test, and closes it even if the test fails', async () => {
    const made: unknown[] = []
    const closed: unknown[] = []
    const tests = collectTests({
      name: 'broken',
      async createStore({ now }) {
        const store = { ...memoryAdapter({ now }), find: async () => null }
        made.push(store)
        return store
      },
      close: async (store) => closed.push(store),
    })
    const test = tests.find(({ title }) => title.startsWith('find calls: find returns'))
    await expect(test?.run()).rejects.toThrow('expected')
    expect(made).toHaveLength(1)
    expect(closed).toEqual(made)
  })

  it('names the call that does not respond, under a runner without a time limit too', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const close = vi.fn()
    const tests = collectTests({ name: 'hanging', createStore: hanging('find').createStore, close })
    const { title, run } = tests.find((test) => test.title.startsWith('find calls: find returns'))!
    await expect(run()).rejects.toThrow(`\`find\` did not respond within 60 s (in "${title}").`)
    expect(close).toHaveBeenCalledOnce()
  })

  it('names the first call that does not respond, even if the store cannot be closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { createStore, call } = hanging('release')
    const tests = collectTests({ name: 'hanging', createStore, close: call })
    const { run } = tests.find(
      ({ title }) => title === 'concurrency: either confirm or release wins an attempt',
    )!
    await expect(run()).rejects.toThrow('`release` did not respond within 60 s')
  })

  it.each([
    { confirms: 'never', reason: '`confirm` did not respond within 60 s' },
    { confirms: 'without effect', reason: 'The test took more than 120 s' },
  ])('ends a case that waits for a store which confirms $confirms', async ({ confirms, reason }) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const tests = collectTests({
      name: 'blind',
      createStore: (context) => ({
        ...(confirms === 'never' ? hanging('confirm').createStore(context) : memoryAdapter(context)),
        findActive: () => new Promise((resolve) => setTimeout(resolve, 1000, null)),
      }),
    })
    const { run } = tests.find(
      ({ title }) => title === 'events: are listed as soon as the change is visible',
    )!
    const failure = run().catch(String)
    await vi.advanceTimersByTimeAsync(130_000)
    expect(await failure).toContain(reason)
  })

  it('runs no more tests after three in which a call did not respond', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { createStore } = hanging('reserve')
    const tests = collectTests({ name: 'hanging', createStore }).filter(({ title }) =>
      title.startsWith('reserve: '),
    )
    for (const [index, { run }] of tests.slice(0, 3).entries()) {
      await expect(run()).rejects.toThrow(`did not respond within ${index === 0 ? 60 : 10} s`)
    }
    await expect(tests[3]!.run()).rejects.toThrow(
      `Not run, because 3 tests had no response. The first: \`reserve\` did not respond within 60 s (in "${tests[0]!.title}").`,
    )
    expect(createStore).toHaveBeenCalledTimes(3)
  })

  it.each([
    { numRuns: undefined, runs: 4 },
    { numRuns: 12, runs: 12 },
  ])('with numRuns $numRuns runs a script of a second $runs times', async ({ numRuns, runs }) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const createStore = vi.fn((context: { now: () => Date; events: boolean }) => {
      vi.setSystemTime(Date.now() + 1000)
      return memoryAdapter(context)
    })
    const tests = collectTests({ name: 'slow', createStore, numRuns })
    await tests.find(({ title }) => title === SCRIPTS.aboutQuotas)!.run()
    expect(createStore).toHaveBeenCalledTimes(runs)
  })

  it('refuses invalid options', () => {
    const nothing = undefined as unknown as typeof memoryAdapter
    expect(() => collectTests({ name: 'nothing', createStore: nothing })).toThrow(TypeError)
    expect(() => collectTests({ ...memory, numRuns: 0 })).toThrow(TypeError)
    expect(() => collectTests({ ...memory, delays: -1 })).toThrow(TypeError)
  })

  it('refuses a seed that is not an integer', () => {
    vi.stubEnv('CONFORMANCE_SEED', 'yesterday')
    expect(() => collectTests(memory)).toThrow('CONFORMANCE_SEED must be an integer')
  })
})
