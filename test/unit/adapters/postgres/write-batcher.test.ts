import { AsyncLocalStorage } from 'node:async_hooks'
import { StorageError } from '@svc/db'
import fc from 'fast-check'
import { afterEach, expect, it, vi } from 'vitest'
import {
  createWriteBatcher,
  type WriteBatcherOptions,
} from '../../../../src/adapters/postgres/write-batcher.js'

/** Waits until all pending promise callbacks have run. */
const pendingCallbacks = () => new Promise((resolve) => setTimeout(resolve, 0))

interface RandomJob {
  readonly index: number
  readonly queue: number
  readonly conflictKey: number
  /** Makes its whole batch fail. */
  readonly isPoisoned: boolean
  /** Whether another writer holds its key when it first runs. */
  readonly isHeld: boolean
}

const MAX_TOGETHER = 3

const jobs = fc
  .array(
    fc.record({
      queue: fc.nat(2),
      conflictKey: fc.nat(3),
      isPoisoned: fc.nat(3).map((n) => n === 0),
      isHeld: fc.nat(3).map((n) => n === 0),
    }),
    { maxLength: 25 },
  )
  .map((list) => list.map((job, index): RandomJob => ({ ...job, index })))

it('each job has its own effect or error, in order, in any batch', async () => {
  const gatherings = fc.integer({ min: 1, max: 3 })
  await fc.assert(
    fc.asyncProperty(jobs, gatherings, fc.scheduler(), async (list, batchThreshold, scheduler) => {
      const effects: RandomJob[] = []
      const faults: string[] = []
      const inFlight: RandomJob[] = []
      const inBatches: RandomJob[] = []

      /** Runs jobs for any time. Faults are collected, because an error thrown here would count as a failed batch. */
      async function together(jobs: readonly RandomJob[]): Promise<void> {
        const { queue } = jobs[0]!
        const keys = [...inFlight.filter((job) => job.queue === queue), ...jobs].map(
          ({ conflictKey }) => conflictKey,
        )
        if (new Set(keys).size < keys.length) faults.push('one conflict key twice in flight')
        inFlight.push(...jobs)
        await scheduler.schedule(Promise.resolve())
        for (const job of jobs) inFlight.splice(inFlight.indexOf(job), 1)
      }

      function resultOf(job: RandomJob): number {
        effects.push(job)
        return job.index
      }

      const batcher = createWriteBatcher<RandomJob, number>({
        maxBatchSize: MAX_TOGETHER,
        batchThreshold,
        maxHeld: Infinity,
        conflictKeyOf: ({ conflictKey }) => `${conflictKey}`,
        wasUndone: () => true,
        async run(batch) {
          const others = inBatches.filter(({ queue }) => queue === batch[0]!.queue)
          if (batch.some(({ queue }) => queue !== batch[0]!.queue)) faults.push('a batch of two queues')
          if (batch.length > MAX_TOGETHER) faults.push('a batch that is too large')
          // Jobs that run alone after a failure may run concurrently.
          if (others.length >= batchThreshold && batch.length > 1) faults.push('a batch that did not wait')
          inBatches.push(...batch)
          await together(batch)
          for (const job of batch) inBatches.splice(inBatches.indexOf(job), 1)
          const poisoned = batch.find(({ isPoisoned, isHeld }) => isPoisoned && !isHeld)
          if (poisoned) throw new Error(`poisoned by ${poisoned.index}`)
          return batch.map((job) => (job.isHeld ? null : resultOf(job)))
        },
        async runHeld(job) {
          await together([job])
          if (job.isPoisoned) throw new Error(`poisoned by ${job.index}`)
          return resultOf(job)
        },
      })

      const calls: Promise<number>[] = []
      const arrivals = scheduler.scheduleSequence(
        list.map((job) => async () => {
          calls.push(batcher.run(`${job.queue}`, job))
        }),
      )
      await scheduler.waitFor(arrivals.task)
      const results = await scheduler.waitFor(Promise.allSettled(calls))

      results.forEach((result, index) => {
        if (!list[index]!.isPoisoned) expect(result).toEqual({ status: 'fulfilled', value: index })
        else expect(result).toEqual({ status: 'rejected', reason: new Error(`poisoned by ${index}`) })
      })
      const sound = list.filter(({ isPoisoned }) => !isPoisoned)
      expect([...effects].sort((a, b) => a.index - b.index)).toEqual(sound)
      for (const { queue, conflictKey } of list) {
        const ofKey = (job: RandomJob) => job.queue === queue && job.conflictKey === conflictKey
        expect(effects.filter(ofKey)).toEqual(sound.filter(ofKey))
      }
      expect(faults).toEqual([])
      await pendingCallbacks()
      expect(batcher.busyQueues).toBe(0)
    }),
  )
})

it('a job whose key is free never waits for one that is held', async () => {
  const keys = fc.nat(3)
  await fc.assert(
    fc.asyncProperty(
      fc.array(keys, { maxLength: 15 }),
      fc.uniqueArray(keys),
      fc.integer({ min: 1, max: 3 }),
      async (jobs, heldKeys, batchThreshold) => {
        const isHeld = (key: number) => heldKeys.includes(key)
        const done: number[] = []
        let free: () => void = () => {}
        const freed = new Promise<void>((resolve) => (free = resolve))
        const batcher = createWriteBatcher<number, true>({
          batchThreshold,
          maxHeld: Infinity,
          conflictKeyOf: String,
          wasUndone: () => false,
          run: async (batch) => batch.map((key) => (isHeld(key) ? null : true)),
          runHeld: () => freed.then(() => true as const),
        })
        const calls = jobs.map((key) => batcher.run('queue', key).then(() => void done.push(key)))
        await pendingCallbacks()
        expect(done.toSorted()).toEqual(jobs.filter((key) => !isHeld(key)).toSorted())
        free()
        await Promise.all(calls)
        expect(batcher.busyQueues).toBe(0)
      },
    ),
  )
})

interface Started {
  readonly jobs: readonly string[]
  readonly end: (results?: readonly (string | null)[]) => Promise<unknown>
  readonly fail: (error: Error) => Promise<unknown>
}

const done = (job: string) => `${job} done`

/** Creates a batcher whose batches the test ends. */
function batcherToEnd(more: Partial<WriteBatcherOptions<string, string>> = {}) {
  const started: Started[] = []
  const held: string[] = []
  const batcher = createWriteBatcher<string, string>({
    conflictKeyOf: (job) => job,
    wasUndone: (error) => (error as Error).message === 'undone',
    run: (jobs) =>
      new Promise((resolve, reject) => {
        const end = (results: readonly (string | null)[] = jobs.map(done)) => {
          resolve(results)
          return pendingCallbacks()
        }
        const fail = (error: Error) => {
          reject(error)
          return pendingCallbacks()
        }
        started.push({ jobs, end, fail })
      }),
    runHeld: (job) => new Promise(() => held.push(job)),
    ...more,
  })
  return { batcher, started, held, add: (job: string) => batcher.run('queue', job) }
}

it('limits a batch to 64 jobs by default', async () => {
  const { started, add } = batcherToEnd()
  for (let job = 0; job < 100; job++) void add(`${job}`)
  await started[0]!.end()
  await started[1]!.end()
  expect(started.map(({ jobs }) => jobs.length)).toEqual([1, 64, 35])
})

it('leaves no job waiting if it can’t tell whether a batch had an effect, and goes on', async () => {
  const { batcher, started, add } = batcherToEnd({
    wasUndone: () => {
      throw new TypeError('unexpected')
    },
  })
  const calls = ['a', 'b', 'c'].map((job) => add(job).catch((error: unknown) => (error as Error).name))
  await started[0]!.end()
  await started[1]!.fail(new Error('lost'))
  expect(await Promise.all(calls)).toEqual(['a done', 'TypeError', 'TypeError'])
  expect(batcher.busyQueues).toBe(0)
})

it('rejects all jobs of a batch that may have had an effect, and goes on', async () => {
  const { started, add } = batcherToEnd()
  const calls = ['first', 'a', 'b'].map(add)
  const settled = Promise.allSettled(calls)
  await started[0]!.end()
  const next = add('next')
  const reason = new Error('broken')
  await started[1]!.fail(reason)
  expect((await settled).slice(1)).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ])
  await started[2]!.end()
  expect(await next).toBe('next done')
})

it('runs the jobs of a batch that was undone alone, none of which waits for one that hangs', async () => {
  const { started, add } = batcherToEnd()
  const [, , , other] = ['first', 'hanging', 'refused', 'other'].map((job) => add(job).catch(String))
  await started[0]!.end()
  await started[1]!.fail(new Error('undone'))
  expect(started.slice(2).map(({ jobs }) => jobs)).toEqual([['hanging'], ['refused'], ['other']])
  await started[3]!.fail(new Error('undone'))
  await started[4]!.end()
  expect(await other).toBe('other done')
})

afterEach(() => {
  vi.useRealTimers()
})

it('lets four jobs of all queues wait for held keys, and tries further ones again in a batch', async () => {
  const { batcher, started, held } = batcherToEnd()
  for (const job of ['a', 'b', 'c', 'd', 'e']) {
    void batcher.run(`queue of ${job}`, job)
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    void started.at(-1)!.end([null])
    await vi.advanceTimersByTimeAsync(0)
  }
  expect(held).toEqual(['a', 'b', 'c', 'd'])
  await vi.advanceTimersByTimeAsync(100)
  expect(started.slice(5).map(({ jobs }) => jobs)).toEqual([['e']])
})

it('rejects a job of a queue in which too many are waiting', async () => {
  const { batcher, started, add } = batcherToEnd({ maxWaiting: 2 })
  const calls = ['a', 'b', 'c'].map(add)
  await expect(add('d')).rejects.toThrow(
    new StorageError('DATABASE_UNAVAILABLE', {
      message: 'Too many writes of one scope: 2 are waiting already, so this one was not started.',
    }),
  )
  void batcher.run('other', 'e')
  await started[0]!.end()
  calls.push(add('f'))
  await started[2]!.end()
  await started[3]!.end()
  expect(await Promise.all(calls)).toEqual(['a done', 'b done', 'c done', 'f done'])
})

it('rejects jobs that have waited for a minute, instead of letting each batch without a response delay them', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const { started, add } = batcherToEnd()
  const calls = ['silent', 'a', 'b'].map((job) => add(job).catch(String))
  vi.advanceTimersByTime(59_999)
  calls.push(add('next'))
  vi.advanceTimersByTime(1)
  await started[0]!.fail(new Error('no response'))
  expect(started.slice(1).map(({ jobs }) => jobs)).toEqual([['next']])
  await started[1]!.end()
  const late = 'StorageError: Earlier writes of the scope took longer than 60 s, so this one was not started.'
  expect(await Promise.all(calls)).toEqual(['Error: no response', late, late, 'next done'])
})

it('a job that waits runs in the async context of no other caller', async () => {
  const callers = new AsyncLocalStorage<string>()
  const seen: string[] = []
  const see = (jobs: readonly string[]) =>
    void seen.push(`${jobs.join(' ')} in ${callers.getStore() ?? 'none'}`)
  const batcher = createWriteBatcher<string, true>({
    async run(jobs) {
      see(jobs)
      await pendingCallbacks()
      return jobs.map((job) => (job === 'held' ? null : true))
    },
    async runHeld(job) {
      see([job])
      return Promise.resolve(true)
    },
    conflictKeyOf: (job) => job,
    wasUndone: () => false,
  })
  const add = (job: string) => callers.run(`context of ${job}`, () => batcher.run('queue', job))
  await Promise.all(['a', 'b', 'held'].map(add))
  await Promise.all(['held', 'c'].map(add))
  expect(seen).toEqual([
    'a in context of a',
    'b held in none',
    'held in none',
    'held in context of held',
    'held in context of held',
    'c in none',
  ])
})
