import { afterEach, describe, expect, it, vi } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { SCRIPTS } from '../broken-stores/mutant.js'
import { collectTests } from './collect-tests.js'

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

  it('fails a test whose store never responds, also under a runner without a time limit', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const createStore = ({ now }: { now: () => Date }) => ({
      ...memoryAdapter({ now }),
      find: () => new Promise<never>(() => undefined),
    })
    const tests = collectTests({ name: 'hanging', createStore })
    const failure = tests
      .find(({ title }) => title.startsWith('find calls: find returns'))!
      .run()
      .catch(String)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await failure).toContain('a call of the store, or its creation or end, has taken more than 60 s')
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
