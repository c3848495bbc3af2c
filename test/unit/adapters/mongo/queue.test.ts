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
const HELD = new Error('held')
const turn = () => new Promise((resolve) => setImmediate(resolve))

function transactionsToEnd() {
  const started: Started[] = []
  const queue = createQueue<NamedJob, string>({
    wasUndone: (error) => error === UNDONE,
    again: (job, error) => (error === HELD ? { ...job, scopes: ['found'] } : null),
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
  it('runs two jobs at once, and those that wait for them together', async () => {
    const { names, started, add } = transactionsToEnd()
    const results = ['a', 'b', 'c', 'd'].map((name) => add(name))
    expect(names()).toEqual(['a', 'b'])
    await started[0]!.end()
    expect(names()).toEqual(['a', 'b', 'c d'])
    results.push(add('e'))
    expect(names()).toHaveLength(3)
    await started[2]!.end()
    expect(names().at(-1)).toBe('e')
    await started[1]!.end()
    await started[3]!.end()
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd', 'e'].map((name) => `${name} done`))
  })

  it('runs jobs of one scope together or one after the other', async () => {
    const { names, started, add } = transactionsToEnd()
    for (const name of ['a', 'b', 'c']) void add(name, ['x'])
    void add('d', ['y'])
    expect(names()).toEqual(['a', 'd'])
    await started[1]!.end()
    expect(names()).toHaveLength(2)
    await started[0]!.end()
    expect(names().at(-1)).toBe('b c')
  })

  it('runs jobs of one key in order, and lets others of the scope pass', async () => {
    const { names, started, add } = transactionsToEnd()
    void add('update', [], 'k')
    void add('a', ['x'], 'k')
    void add('b', ['x'], 'k')
    void add('c', ['x'])
    expect(names()).toEqual(['update', 'c'])
    await started[0]!.end()
    await started[1]!.end()
    expect(names().at(-1)).toBe('a')
    await started[2]!.end()
    expect(names().at(-1)).toBe('b')
  })

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

  it('runs the jobs of an undone part one after the other, and only the failing one rejects', async () => {
    const { names, started, add } = transactionsToEnd()
    void add('a', ['x'])
    const settled = Promise.allSettled(['b', 'c', 'd'].map((name) => add(name, ['x'])))
    await started[0]!.end()
    await started[1]!.end(UNDONE)
    expect(names().slice(2)).toEqual(['b'])
    void add('e', ['x'])
    await started[2]!.end()
    await started[3]!.end(UNDONE)
    await started[4]!.end()
    expect(names().slice(2)).toEqual(['b', 'c', 'd', 'e'])
    expect(await settled).toEqual([
      { status: 'fulfilled', value: 'b done' },
      { status: 'rejected', reason: UNDONE },
      { status: 'fulfilled', value: 'd done' },
    ])
  })

  it('rejects all jobs of a transaction whose outcome is unknown', async () => {
    const { started, add } = transactionsToEnd()
    void add('a')
    void add('b')
    const failed = Promise.allSettled([add('c'), add('d')])
    await started[0]!.end()
    const reason = new Error('unknown outcome')
    await started[2]!.end(reason)
    expect(await failed).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ])
  })

  it('runs a job whose key is held again, and lets only those of its key wait', async () => {
    const { names, started, add } = transactionsToEnd()
    const held = add('held', ['x'], 'k')
    void add('later', ['x'], 'k')
    void add('b', ['x'])
    expect(names()).toEqual(['held'])
    await started[0]!.end(HELD)
    expect(names()).toContain('b')
    await started[names().indexOf('b')]!.end()
    await expect.poll(() => names().slice(1)).toEqual(['b', 'held'])
    await started[2]!.end()
    expect(await held).toBe('held done')
    expect(names().at(-1)).toBe('later')
  })

  it('ends selected jobs early, and runs none of them that waited', async () => {
    const { names, started, queue, add } = transactionsToEnd()
    const results = ['a', 'b', 'c'].map((name) => add(name, ['x']))
    queue.end(({ name }) => name !== 'c', 'skipped')
    expect(await Promise.all(results.slice(0, 2))).toEqual(['skipped', 'skipped'])
    await started[0]!.end()
    expect(names()).toEqual(['a', 'c'])
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
      vi.useRealTimers()
    })

    it('keeps no other scopes waiting after 100 milliseconds', async () => {
      const { names, started, add } = transactionsToEnd()
      void add('a')
      void add('b')
      void add('c')
      void add('d', ['a'])
      vi.advanceTimersByTime(99)
      expect(names()).toEqual(['a', 'b'])
      vi.advanceTimersByTime(1)
      expect(names()).toEqual(['a', 'b', 'c'])
      // Neither of the two counts any longer, also not when it ends.
      await started[1]!.end()
      void add('e')
      void add('f')
      expect(names()).toEqual(['a', 'b', 'c', 'e'])
      await started[0]!.end()
      expect(names()).toHaveLength(4)
      await started[2]!.end()
      expect(names().at(-1)).toBe('d f')
      expect(vi.getTimerCount()).toBe(2)
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
