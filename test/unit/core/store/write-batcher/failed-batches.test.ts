import { describe, expect, it } from 'vitest'
import { createWriteBatcher, type BatchRecovery } from '../../../../../src/core/store/write-batcher.js'
import { fulfilled, batchRunner, pendingCallbacks, job, refused } from './batch-runner.js'

const broken = new Error('broken')

/** Three jobs in one batch that has just started. */
async function batchOfThree(recoveryFrom: BatchRecovery) {
  const { started, options } = batchRunner(recoveryFrom)
  const batcher = createWriteBatcher(options)
  void batcher.run('queue', job('first'))
  const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
  await started[0]!.end()
  expect(started[1]!.names).toEqual(['a', 'b', 'c'])
  return { batcher, started, settled, names: () => started.slice(2).map((batch) => batch.names) }
}

describe('a batch that fails as a whole', () => {
  it('fail: rejects every job with the error, and continues the queue', async () => {
    const { started, batcher, settled } = await batchOfThree('fail')
    const next = batcher.run('queue', job('next'))
    await started[1]!.fail(broken)
    expect(await settled).toEqual([refused(broken), refused(broken), refused(broken)])
    await started[2]!.end()
    expect(await next).toBe('next done')
    expect(batcher.busyQueues).toBe(0)
  })

  it('one-by-one: runs each job alone in sequence, and only the failing job rejects', async () => {
    const { started, batcher, settled, names } = await batchOfThree('sequential')
    const next = batcher.run('queue', job('next'))
    await started[1]!.fail(broken)
    expect(names()).toEqual([['a']])
    await started[2]!.end()
    expect(names()).toEqual([['a'], ['b']])
    await started[3]!.fail(broken)
    expect(names()).toEqual([['a'], ['b'], ['c']])
    await started[4]!.end()
    expect(await settled).toEqual([fulfilled('a done'), refused(broken), fulfilled('c done')])
    expect(names()).toEqual([['a'], ['b'], ['c'], ['next']])
    await started[5]!.end()
    expect(await next).toBe('next done')
  })

  it('at-once: runs all jobs alone concurrently; later jobs wait for all of them', async () => {
    const { started, batcher, settled, names } = await batchOfThree('concurrent')
    const next = batcher.run('queue', job('next'))
    await started[1]!.fail(broken)
    expect(names()).toEqual([['a'], ['b'], ['c']])
    await started[4]!.end()
    await started[2]!.fail(broken)
    expect(names()).toHaveLength(3)
    await started[3]!.end()
    expect(await settled).toEqual([refused(broken), fulfilled('b done'), fulfilled('c done')])
    await started[5]!.end()
    expect(await next).toBe('next done')
  })

  it('at-once: settles each job without waiting for one that hangs', async () => {
    const { started, options } = batchRunner('concurrent')
    const batcher = createWriteBatcher(options)
    void batcher.run('queue', job('first'))
    void batcher.run('queue', job('hanging'))
    const other = batcher.run('queue', job('other'))
    await started[0]!.end()
    await started[1]!.fail(broken)
    await started[3]!.end()
    expect(await other).toBe('other done')
  })

  it('calls recoveryFrom only for batches of several jobs, with the error', async () => {
    const { started, options } = batchRunner()
    const asked: unknown[] = []
    const batcher = createWriteBatcher({
      ...options,
      recoveryFrom: (error) => {
        asked.push(error)
        return 'fail'
      },
    })
    const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
    await started[0]!.fail(new Error('alone'))
    await started[1]!.fail(broken)
    expect(await settled).toEqual([refused(new Error('alone')), refused(broken), refused(broken)])
    expect(asked).toEqual([broken])
  })

  it('treats a synchronous throw as a rejection', async () => {
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

  it('treats a wrong number of results as a failure', async () => {
    const { started, settled } = await batchOfThree('fail')
    await started[1]!.end([fulfilled('a done')])
    for (const result of await settled) {
      expect(result).toMatchObject({ reason: new RangeError('A batch of 3 jobs returned 1 results.') })
    }
  })

  it('rejects the callers if recoveryFrom throws, and continues the queue', async () => {
    const { started, options } = batchRunner()
    const fault = new TypeError('a fault')
    const batcher = createWriteBatcher({
      ...options,
      recoveryFrom: () => {
        throw fault
      },
    })
    const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
    await started[0]!.end()
    await started[1]!.fail(broken)
    expect(await settled).toEqual([fulfilled('a done'), refused(fault), refused(fault)])
    const next = batcher.run('queue', job('next'))
    await pendingCallbacks()
    await started[2]!.end()
    expect(await next).toBe('next done')
  })
})

it('rejects only the job for which conflictKeyOf throws', async () => {
  const { started, options } = batchRunner()
  const batcher = createWriteBatcher({
    ...options,
    conflictKeyOf: ({ name }) => {
      if (name === 'bad') throw broken
      return name
    },
  })
  const settled = Promise.allSettled(['a', 'bad', 'b'].map((name) => batcher.run('queue', job(name))))
  await started[0]!.end()
  await started[1]!.end()
  expect(await settled).toEqual([fulfilled('a done'), refused(broken), fulfilled('b done')])
})
