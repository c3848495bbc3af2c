import { afterEach, describe, expect, it, vi } from 'vitest'
import { storeConformance } from '@svc/db/conformance'
import { memoryAdapter } from '@svc/db/memory'
import { collectTests } from './collect-tests.js'

const memory = { name: 'memory', createStore: memoryAdapter }

describe('storeConformance', () => {
  afterEach(() => {
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
