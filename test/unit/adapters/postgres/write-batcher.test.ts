import { afterEach, expect, it, vi } from 'vitest'
import { StorageError } from '@svc/db'
import {
  createWriteBatcher,
  type WriteBatcherOptions,
} from '../../../../src/adapters/postgres/write-batcher.js'
import { batchRunner, fulfilled, job, refused, type TestJob } from './batch-runner.js'

// The properties check order, outcomes and conflicts. These are the limits, and when a batch starts.

/** Starts a batcher and runs the given jobs in one queue. */
function batcherWith(names: readonly string[], more: Partial<WriteBatcherOptions<TestJob, string>> = {}) {
  const { started, held, options } = batchRunner()
  const batcher = createWriteBatcher({ ...options, ...more })
  return {
    started,
    held: () => held.map((batch) => batch.names),
    endHeld: (index: number) => held[index]!.end(),
    batcher,
    batches: () => started.map((batch) => batch.names),
    calls: names.map((name) => batcher.run('queue', job(name))),
  }
}

it('runs a single job in the same tick, and batches the jobs that arrive meanwhile', async () => {
  const { started, batches, batcher, calls } = batcherWith(['a', 'b', 'c', 'd'])
  const settled = Promise.allSettled(calls)
  expect(batches()).toEqual([['a']])
  await started[0]!.end()
  expect(batches()).toEqual([['a'], ['b', 'c', 'd']])
  const late = batcher.run('queue', job('e'))
  await started[1]!.end([fulfilled('b done'), refused('c refused'), fulfilled('d done')])
  expect(batches().at(-1)).toEqual(['e'])
  await started[2]!.end()
  expect(await late).toBe('e done')
  expect(await settled).toEqual([
    fulfilled('a done'),
    fulfilled('b done'),
    refused('c refused'),
    fulfilled('d done'),
  ])
})

it('limits a batch to 64 jobs by default', async () => {
  const { started, batches } = batcherWith(Array.from({ length: 100 }, (_, number) => `${number}`))
  await started[0]!.end()
  await started[1]!.end()
  expect(batches().map(({ length }) => length)).toEqual([1, 64, 35])
})

it('with a threshold of two, batches later jobs as soon as one of two ends', async () => {
  const { started, batches, batcher } = batcherWith(['a', 'b', 'c', 'd'], { batchThreshold: 2 })
  expect(batches()).toEqual([['a'], ['b']])
  await started[1]!.end()
  expect(batches()).toEqual([['a'], ['b'], ['c', 'd']])
  // Three jobs are in flight, so one more result doesn't start the next batch.
  void batcher.run('queue', job('e'))
  await started[0]!.end()
  expect(started).toHaveLength(3)
  await started[2]!.end()
  expect(batches().at(-1)).toEqual(['e'])
})

it('runs jobs with one conflict key in separate batches, in order', async () => {
  const { started, batches, batcher } = batcherWith([])
  for (const [name, conflictKey] of [
    ['first', 'x'],
    ['a', 'x'],
    ['b', 'x'],
    ['c', 'y'],
  ] as const)
    void batcher.run('queue', job(name, conflictKey))
  await started[0]!.end()
  await started[1]!.end()
  expect(batches()).toEqual([['first'], ['a', 'c'], ['b']])
})

it('passes a job that waits for an earlier one with its conflict key', async () => {
  const { started, batches, batcher } = batcherWith(['a'], { batchThreshold: 2 })
  const second = batcher.run('queue', job('a 2', 'a'))
  const other = batcher.run('queue', job('b'))
  expect(batches()).toEqual([['a'], ['b']])
  await started[1]!.end()
  expect(await other).toBe('b done')
  await started[0]!.end()
  await started[2]!.end()
  expect(await second).toBe('a 2 done')
})

it('runs a job whose key is held held, and then the later ones with its key', async () => {
  const { started, batches, held, endHeld, batcher, calls } = batcherWith(['a', 'b', 'c'])
  const later = batcher.run('queue', job('b 2', 'b'))
  await started[0]!.end()
  await started[1]!.end(['held', fulfilled('c done')])
  expect(held()).toEqual([['b']])
  expect(await calls[2]).toBe('c done')
  const next = batcher.run('queue', job('d'))
  await started[2]!.end()
  expect(await next).toBe('d done')
  await endHeld(0)
  expect(await calls[1]).toBe('b done')
  await started[3]!.end()
  expect(await later).toBe('b 2 done')
  expect(batches()).toEqual([['a'], ['b', 'c'], ['d'], ['b 2']])
  expect(batcher.busyQueues).toBe(0)
})

afterEach(() => {
  vi.useRealTimers()
})

it('lets four jobs of all queues wait for held keys, and tries further ones again in a batch', async () => {
  const { started, batches, held, batcher } = batcherWith([])
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    void batcher.run(`queue of ${name}`, job(name))
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    void started.at(-1)!.end(['held'])
    await vi.advanceTimersByTimeAsync(0)
  }
  expect(held()).toEqual([['a'], ['b'], ['c'], ['d']])
  await vi.advanceTimersByTimeAsync(100)
  expect(batches().slice(5)).toEqual([['e']])
})

it('batches callers that continue immediately after a batch', async () => {
  const { started, batches, batcher } = batcherWith([])
  for (const name of ['a', 'b', 'c']) {
    void (async () => {
      await batcher.run('queue', job(`${name} 1`))
      // The layers between the batcher and its caller.
      for (let layer = 0; layer < 5; layer++) await Promise.resolve()
      await batcher.run('queue', job(`${name} 2`))
    })()
  }
  await started[0]!.end()
  await started[1]!.end()
  expect(batches()).toEqual([['a 1'], ['b 1', 'c 1'], ['a 2', 'b 2', 'c 2']])
})

it('does not wait for another queue that hangs, and drops empty queues', async () => {
  const { started, batches, batcher } = batcherWith(['hanging', 'next'])
  const other = batcher.run('other', job('other'))
  expect(batches()).toEqual([['hanging'], ['other']])
  expect(batcher.busyQueues).toBe(2)
  await started[1]!.end()
  expect(await other).toBe('other done')
  expect(batcher.busyQueues).toBe(1)
})

it('rejects a job of a queue in which too many are waiting', async () => {
  const { started, batcher, calls } = batcherWith(['a', 'b', 'c'], { maxWaiting: 2 })
  const error: unknown = await batcher.run('queue', job('d')).catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(StorageError)
  expect(error).toMatchObject({
    code: 'DATABASE_UNAVAILABLE',
    message: 'Too many writes of one scope: 2 are waiting already, so this one was not started.',
  })
  void batcher.run('other', job('e'))
  await started[0]!.end()
  calls.push(batcher.run('queue', job('f')))
  await started[2]!.end()
  await started[3]!.end()
  expect(await Promise.all(calls)).toEqual(['a done', 'b done', 'c done', 'f done'])
})
