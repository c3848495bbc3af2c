import { describe, expect, it } from 'vitest'
import { createWriteBatcher } from '../../../../../src/core/store/write-batcher.js'
import { batchRunner, job } from './batch-runner.js'

const names = (begun: readonly { readonly names: readonly string[] }[]) => begun.map((batch) => batch.names)

describe('a queue that gathers from two jobs on', () => {
  function batcherOfTwo() {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher({ ...options, batchThreshold: 2 })
    return { begun, batcher, run: (name: string, thing?: string) => batcher.run('queue', job(name, thing)) }
  }

  it('lets two callers be, and what comes then is one batch as soon as one of them has its answer', async () => {
    const { begun, run } = batcherOfTwo()
    const answers = ['a', 'b', 'c', 'd'].map((name) => run(name))
    expect(names(begun)).toEqual([['a'], ['b']])
    await begun[1]!.end()
    expect(names(begun)).toEqual([['a'], ['b'], ['c', 'd']])
    // Three are in flight now: one more answer is not enough for the next.
    const late = run('e')
    await begun[0]!.end()
    expect(begun).toHaveLength(3)
    await begun[2]!.end()
    expect(names(begun).at(-1)).toEqual(['e'])
    await begun[3]!.end()
    expect(await Promise.all([...answers, late])).toEqual(['a', 'b', 'c', 'd', 'e'].map((n) => `${n} done`))
  })

  it('has no two jobs on one thing in flight, and lets nobody overtake the one that waits', async () => {
    const { begun, run } = batcherOfTwo()
    void run('a', 'x')
    void run('b', 'x')
    void run('c', 'y')
    expect(names(begun)).toEqual([['a']])
    await begun[0]!.end()
    expect(names(begun)).toEqual([['a'], ['b', 'c']])
  })

  it('is forgotten when nobody is in it', async () => {
    const { begun, batcher, run } = batcherOfTwo()
    for (const name of ['a', 'b', 'c']) void run(name)
    await begun[0]!.end()
    await begun[1]!.end()
    expect(batcher.busyQueues).toBe(1)
    await begun[2]!.end()
    expect(batcher.busyQueues).toBe(0)
  })
})

it('callers of a batch who go on at once are the next batch, with nobody ahead of the others', async () => {
  const { begun, options } = batchRunner()
  const batcher = createWriteBatcher(options)
  const callers = ['a', 'b', 'c'].map(async (name) => {
    await batcher.run('queue', job(`${name} 1`))
    await batcher.run('queue', job(`${name} 2`))
    await batcher.run('queue', job(`${name} 3`))
  })
  await begun[0]!.end()
  expect(names(begun)).toEqual([['a 1'], ['b 1', 'c 1', 'a 2']])
  await begun[1]!.end()
  expect(names(begun).at(-1)).toEqual(['b 2', 'c 2', 'a 3'])
  await begun[2]!.end()
  expect(names(begun).at(-1)).toEqual(['b 3', 'c 3'])
  await begun[3]!.end()
  await Promise.all(callers)
})
