import { describe, expect, it } from 'vitest'
import { createWriteBatcher, type BatchRecovery } from '../../../../../src/core/store/write-batcher.js'
import { answered, batchRunner, everythingElse, job, refused } from './batch-runner.js'

const broken = new Error('broken')

/** Three jobs in one batch, which has just begun. */
async function batchOfThree(recoveryFrom: BatchRecovery) {
  const { begun, options } = batchRunner(recoveryFrom)
  const batcher = createWriteBatcher(options)
  void batcher.run('queue', job('first'))
  const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
  await begun[0]!.end()
  expect(begun[1]!.names).toEqual(['a', 'b', 'c'])
  return { batcher, begun, settled, names: () => begun.slice(2).map((batch) => batch.names) }
}

describe('a batch that fails as a whole', () => {
  it('fail: gives its error to each, and the queue goes on', async () => {
    const { begun, batcher, settled } = await batchOfThree('fail')
    const next = batcher.run('queue', job('next'))
    await begun[1]!.fail(broken)
    expect(await settled).toEqual([refused(broken), refused(broken), refused(broken)])
    await begun[2]!.end()
    expect(await next).toBe('next done')
    expect(batcher.busyQueues).toBe(0)
  })

  it('one-by-one: runs each by itself in turn, and only the one to blame fails', async () => {
    const { begun, batcher, settled, names } = await batchOfThree('sequential')
    const next = batcher.run('queue', job('next'))
    await begun[1]!.fail(broken)
    expect(names()).toEqual([['a']])
    await begun[2]!.end()
    expect(names()).toEqual([['a'], ['b']])
    await begun[3]!.fail(broken)
    expect(names()).toEqual([['a'], ['b'], ['c']])
    await begun[4]!.end()
    expect(await settled).toEqual([answered('a done'), refused(broken), answered('c done')])
    expect(names()).toEqual([['a'], ['b'], ['c'], ['next']])
    await begun[5]!.end()
    expect(await next).toBe('next done')
  })

  it('at-once: runs each by itself at the same time; what comes later waits for all', async () => {
    const { begun, batcher, settled, names } = await batchOfThree('concurrent')
    const next = batcher.run('queue', job('next'))
    await begun[1]!.fail(broken)
    expect(names()).toEqual([['a'], ['b'], ['c']])
    await begun[4]!.end()
    await begun[2]!.fail(broken)
    expect(names()).toHaveLength(3)
    await begun[3]!.end()
    expect(await settled).toEqual([refused(broken), answered('b done'), answered('c done')])
    await begun[5]!.end()
    expect(await next).toBe('next done')
  })

  it('at-once: who has an answer does not wait for a neighbour that hangs', async () => {
    const { begun, options } = batchRunner('concurrent')
    const batcher = createWriteBatcher(options)
    void batcher.run('queue', job('first'))
    void batcher.run('queue', job('hanging'))
    const other = batcher.run('queue', job('other'))
    await begun[0]!.end()
    await begun[1]!.fail(broken)
    await begun[3]!.end()
    expect(await other).toBe('other done')
  })

  it('asks about batches of several only, and with the error', async () => {
    const { begun, options } = batchRunner()
    const asked: unknown[] = []
    const batcher = createWriteBatcher({
      ...options,
      recoveryFrom: (error) => {
        asked.push(error)
        return 'fail'
      },
    })
    const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
    await begun[0]!.fail(new Error('alone'))
    await begun[1]!.fail(broken)
    expect(await settled).toEqual([refused(new Error('alone')), refused(broken), refused(broken)])
    expect(asked).toEqual([broken])
  })

  it('takes what is thrown for a rejection', async () => {
    const batcher = createWriteBatcher({
      run: () => {
        throw broken
      },
      conflictKeyOf: () => '',
      recoveryFrom: () => 'fail',
    })
    await expect(batcher.run('queue', 1)).rejects.toBe(broken)
    expect(batcher.busyQueues).toBe(0)
  })

  it('takes a wrong number of answers for a failure, so that nobody waits for ever', async () => {
    const { begun, settled } = await batchOfThree('fail')
    await begun[1]!.end([answered('a done')])
    for (const result of await settled) {
      expect(result).toMatchObject({ reason: new RangeError('A batch of 3 jobs returned 1 results.') })
    }
  })

  it('a fault in recoveryFrom is told to the callers, and the queue goes on', async () => {
    const { begun, options } = batchRunner()
    const fault = new TypeError('a fault')
    const batcher = createWriteBatcher({
      ...options,
      recoveryFrom: () => {
        throw fault
      },
    })
    const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
    await begun[0]!.end()
    await begun[1]!.fail(broken)
    expect(await settled).toEqual([answered('a done'), refused(fault), refused(fault)])
    const next = batcher.run('queue', job('next'))
    await everythingElse()
    await begun[2]!.end()
    expect(await next).toBe('next done')
  })
})

it('a job that conflictKeyOf fails for is refused by itself', async () => {
  const { begun, options } = batchRunner()
  const batcher = createWriteBatcher({
    ...options,
    conflictKeyOf: ({ name }) => {
      if (name === 'bad') throw broken
      return name
    },
  })
  const settled = Promise.allSettled(['a', 'bad', 'b'].map((name) => batcher.run('queue', job(name))))
  await begun[0]!.end()
  await begun[1]!.end()
  expect(await settled).toEqual([answered('a done'), refused(broken), answered('b done')])
})
