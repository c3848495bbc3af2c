import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createQueue, type Job } from '../../../../src/adapters/mongo/writes/queue.js'

interface NamedJob extends Job {
  readonly name: string
}

/** A transaction that a test ends. */
interface Started {
  readonly names: readonly string[]
  /** Ends it with its results, or with an error. */
  end(error?: Error): Promise<void>
}

const UNDONE = new Error('undone')
const turn = () => new Promise((resolve) => setImmediate(resolve))

function transactionsToEnd() {
  const started: Started[] = []
  const queue = createQueue<NamedJob, string>({
    wasUndone: (error) => error === UNDONE,
    again: () => null,
    run: (jobs) =>
      new Promise((resolve, reject) => {
        const names = jobs.map(({ name }) => name)
        started.push({
          names,
          async end(error) {
            if (error) reject(error)
            else resolve(names.map((name) => `${name} done`))
            await turn()
            await turn()
          },
        })
      }),
  })
  return {
    queue,
    started,
    names: () => started.map(({ names }) => names.join(' ')),
    add: (name: string, scopes: readonly string[] = [name], key = `key of ${name}`) =>
      queue.add({ name, key, scopes }),
  }
}

describe('the queue of writes', () => {
  it('lets no later job keep one with two scopes waiting', async () => {
    const { names, started, add } = transactionsToEnd()
    void add('a', ['x'])
    void add('b', ['y'])
    void add('both', ['x', 'y'])
    void add('c', ['x'])
    await started[0]!.end()
    expect(names()).toEqual(['a', 'b'])
    await started[1]!.end()
    expect(names().at(-1)).toBe('both c')
  })

  it('puts at most 64 jobs into a transaction', async () => {
    const { started, add } = transactionsToEnd()
    for (let i = 0; i < 100; i++) void add(`${i}`, ['x'])
    await started[0]!.end()
    await started[1]!.end()
    expect(started.map(({ names }) => names.length)).toEqual([1, 64, 35])
  })

  it('runs the parts of an undone transaction that share no scope at once', async () => {
    const { names, started, add } = transactionsToEnd()
    void add('a')
    void add('b')
    const results = [add('c', ['x']), add('d', ['y', 'z']), add('e', ['x', 'y']), add('f', ['w'])]
    await started[0]!.end()
    await started[2]!.end(UNDONE)
    expect(names().slice(3)).toEqual(['c d e', 'f'])
    await started[4]!.end()
    expect(await results[3]).toBe('f done')
    await started[3]!.end()
    expect(await results[0]).toBe('c done')
  })

  it('refuses a job if 10,000 of its scope wait, not those of other scopes', async () => {
    const { add } = transactionsToEnd()
    for (let i = 0; i <= 10_000; i++) void add(`${i}`, ['x'])
    await expect(add('more', ['x'])).rejects.toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: 'Too many writes of one scope: 10000 are waiting already, so this one was not started.',
    })
    void add('other', ['y'])
  })

  describe('of a transaction that takes long', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    })
    afterEach(() => {
      vi.restoreAllMocks()
      vi.useRealTimers()
    })

    it('keeps no other scopes waiting after 100 milliseconds', async () => {
      const { names, started, add } = transactionsToEnd()
      const set = vi.spyOn(globalThis, 'setTimeout')
      const clear = vi.spyOn(globalThis, 'clearTimeout')
      void add('a')
      void add('b')
      void add('c')
      void add('d', ['a'])
      vi.advanceTimersByTime(99)
      expect(names()).toEqual(['a', 'b'])
      vi.advanceTimersByTime(1)
      expect(names()).toEqual(['a', 'b', 'c'])
      const timerOfC = set.mock.results.at(-1)!.value as unknown
      // Neither of the two counts any longer, also not when it ends.
      await started[1]!.end()
      void add('e')
      void add('f')
      expect(names()).toEqual(['a', 'b', 'c', 'e'])
      await started[0]!.end()
      expect(names()).toHaveLength(4)
      await started[2]!.end()
      expect(names().at(-1)).toBe('d f')
      // Not the number of timers, because work that another file has left running may have set some.
      expect(clear.mock.calls.some(([timer]) => timer === timerOfC)).toBe(true)
    })
  })

  it('never runs two transactions with a key or scope in common, keeps the order of keys, and settles all', async () => {
    const jobs = fc.array(
      fc.record({
        key: fc.nat(4).map((key) => `key ${key}`),
        scopes: fc.uniqueArray(fc.nat(3).map(String), { maxLength: 2 }),
        outcome: fc.constantFrom('done', 'done', 'undone', 'failed' as const),
      }),
      { maxLength: 25 },
    )
    await fc.assert(
      fc.asyncProperty(jobs, fc.scheduler(), async (list, scheduler) => {
        const faults: string[] = []
        const inFlight: (readonly string[])[] = []
        const ended: number[] = []
        const queue = createQueue<Job & { readonly index: number }, number>({
          wasUndone: (error) => error === UNDONE,
          again: () => null,
          async run(group) {
            const keys = group.map(({ key }) => key)
            if (new Set(keys).size < keys.length) faults.push('one key twice')
            const names = [...new Set([...keys, ...group.flatMap(({ scopes }) => scopes)])]
            if (inFlight.some((others) => others.some((name) => names.includes(name)))) faults.push('overlap')
            inFlight.push(names)
            await scheduler.schedule(Promise.resolve())
            inFlight.splice(inFlight.indexOf(names), 1)
            const outcomes = group.map(({ index }) => list[index]!.outcome)
            if (outcomes.includes('undone') && group.length > 1) throw UNDONE
            ended.push(...group.map(({ index }) => index))
            if (outcomes.includes('failed')) throw new Error('failed')
            if (outcomes.includes('undone')) throw UNDONE
            return group.map(({ index }) => index)
          },
        })
        const calls = list.map(({ key, scopes }, index) => queue.add({ key, scopes, index }))
        const results = await scheduler.waitFor(Promise.allSettled(calls))
        expect(faults).toEqual([])
        results.forEach((result, index) => {
          if (result.status === 'fulfilled') expect(result.value).toBe(index)
          else expect(result.reason).toBeInstanceOf(Error)
        })
        expect([...ended].sort((a, b) => a - b)).toEqual(list.map((_, index) => index))
        for (const { key } of list) {
          const ofKey = ended.filter((index) => list[index]!.key === key)
          expect(ofKey).toEqual([...ofKey].sort((a, b) => a - b))
        }
      }),
    )
  })
})

it('a job that waits runs in the async context of no other caller', async () => {
  const callers = new AsyncLocalStorage<string>()
  const seen: string[] = []
  const queue = createQueue<NamedJob, string>({
    wasUndone: (error) => error === UNDONE,
    again: () => null,
    async run(jobs) {
      const names = jobs.map(({ name }) => name)
      seen.push(`${names.join(' ')} in ${callers.getStore() ?? 'none'}`)
      await turn()
      if (names.length > 1) throw UNDONE
      return names
    },
  })
  const add = (name: string) =>
    callers.run(`context of ${name}`, () => queue.add({ name, key: name, scopes: ['scope'] }))
  await Promise.all(['a', 'b', 'c'].map(add))
  expect(seen).toEqual(['a in context of a', 'b c in none', 'b in none', 'c in none'])
})
