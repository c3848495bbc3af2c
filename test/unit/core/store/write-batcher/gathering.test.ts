import { describe, expect, it } from 'vitest'
import { createWriteBatcher } from '../../../../../src/core/store/write-batcher.js'
import { batchRunner, job } from './batch-runner.js'

const names = (started: readonly { readonly names: readonly string[] }[]) =>
  started.map((batch) => batch.names)

describe('a queue that gathers from two jobs', () => {
  function batcherOfTwo() {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher({ ...options, batchThreshold: 2 })
    return {
      started,
      batcher,
      run: (name: string, conflictKey?: string) => batcher.run('queue', job(name, conflictKey)),
    }
  }

  it('runs two jobs at once, and batches later jobs as soon as one of them ends', async () => {
    const { started, run } = batcherOfTwo()
    const results = ['a', 'b', 'c', 'd'].map((name) => run(name))
    expect(names(started)).toEqual([['a'], ['b']])
    await started[1]!.end()
    expect(names(started)).toEqual([['a'], ['b'], ['c', 'd']])
    // Three jobs are in flight, so one more result doesn't start the next batch.
    const late = run('e')
    await started[0]!.end()
    expect(started).toHaveLength(3)
    await started[2]!.end()
    expect(names(started).at(-1)).toEqual(['e'])
    await started[3]!.end()
    expect(await Promise.all([...results, late])).toEqual(['a', 'b', 'c', 'd', 'e'].map((n) => `${n} done`))
  })

  it('never runs two jobs with one conflict key at once, and keeps their order', async () => {
    const { started, run } = batcherOfTwo()
    void run('a', 'x')
    void run('b', 'x')
    void run('c', 'y')
    expect(names(started)).toEqual([['a']])
    await started[0]!.end()
    expect(names(started)).toEqual([['a'], ['b', 'c']])
  })

  it('is dropped when empty', async () => {
    const { started, batcher, run } = batcherOfTwo()
    for (const name of ['a', 'b', 'c']) void run(name)
    await started[0]!.end()
    await started[1]!.end()
    expect(batcher.busyQueues).toBe(1)
    await started[2]!.end()
    expect(batcher.busyQueues).toBe(0)
  })
})

it('batches callers that continue immediately after a batch', async () => {
  const { started, options } = batchRunner()
  const batcher = createWriteBatcher(options)
  const callers = ['a', 'b', 'c'].map(async (name) => {
    await batcher.run('queue', job(`${name} 1`))
    await batcher.run('queue', job(`${name} 2`))
    await batcher.run('queue', job(`${name} 3`))
  })
  await started[0]!.end()
  expect(names(started)).toEqual([['a 1'], ['b 1', 'c 1', 'a 2']])
  await started[1]!.end()
  expect(names(started).at(-1)).toEqual(['b 2', 'c 2', 'a 3'])
  await started[2]!.end()
  expect(names(started).at(-1)).toEqual(['b 3', 'c 3'])
  await started[3]!.end()
  await Promise.all(callers)
})
