import { expect, it } from 'vitest'
import { createWriteBatcher } from '../../../../src/adapters/postgres/write-batcher.js'
import { batchRunner, fulfilled, job, refused } from './batch-runner.js'

const broken = new Error('broken')

/** Three jobs in one batch that has just started, and one that waits. */
async function batchOfThree(wasUndone: (error: unknown) => boolean) {
  const { started, options } = batchRunner()
  const batcher = createWriteBatcher({ ...options, wasUndone })
  void batcher.run('queue', job('first'))
  const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => batcher.run('queue', job(name))))
  await started[0]!.end()
  expect(started[1]!.names).toEqual(['a', 'b', 'c'])
  const next = batcher.run('queue', job('next'))
  return { batcher, started, settled, next, names: () => started.slice(2).map((batch) => batch.names) }
}

it('may have had an effect: rejects every job with the error, and continues the queue', async () => {
  const { batcher, started, settled, next } = await batchOfThree(() => false)
  await started[1]!.fail(broken)
  expect(await settled).toEqual([refused(broken), refused(broken), refused(broken)])
  await started[2]!.end()
  expect(await next).toBe('next done')
  expect(batcher.busyQueues).toBe(0)
})

it('was undone: runs all jobs alone at once, and settles each without waiting for one that hangs', async () => {
  const { started, settled, names } = await batchOfThree(() => true)
  await started[1]!.fail(broken)
  expect(names()).toEqual([['a'], ['b'], ['c']])
  await started[4]!.end()
  await started[2]!.fail(broken)
  // The next batch waits for all of them.
  expect(names()).toHaveLength(3)
  await started[3]!.end()
  expect(await settled).toEqual([refused(broken), fulfilled('b done'), fulfilled('c done')])
  expect(names().at(-1)).toEqual(['next'])
})

it('was undone: does not wait for a job that hangs', async () => {
  const { started, options } = batchRunner(true)
  const batcher = createWriteBatcher(options)
  void batcher.run('queue', job('first'))
  void batcher.run('queue', job('hanging'))
  const other = batcher.run('queue', job('other'))
  await started[0]!.end()
  await started[1]!.fail(broken)
  await started[3]!.end()
  expect(await other).toBe('other done')
})

it('asks whether it was undone only after a batch of several jobs, with its error', async () => {
  const asked: unknown[] = []
  const { started, next } = await batchOfThree((error) => {
    asked.push(error)
    return false
  })
  await started[1]!.fail(broken)
  const alone = new Error('alone')
  const rejected = expect(next).rejects.toBe(alone)
  await started[2]!.fail(alone)
  await rejected
  expect(asked).toEqual([broken])
})

it('rejects the callers if that question throws, and continues the queue', async () => {
  const fault = new TypeError('a fault')
  const { started, settled, next } = await batchOfThree(() => {
    throw fault
  })
  await started[1]!.fail(broken)
  expect(await settled).toEqual([refused(fault), refused(fault), refused(fault)])
  await started[2]!.end()
  expect(await next).toBe('next done')
})

it('treats a wrong number of results as a failure', async () => {
  const { started, settled } = await batchOfThree(() => false)
  await started[1]!.end([fulfilled('a done')])
  const reason = new RangeError('A batch of 3 jobs returned 1 results.')
  expect(await settled).toEqual([refused(reason), refused(reason), refused(reason)])
})

it('treats a synchronous throw as a rejection', async () => {
  const { options } = batchRunner()
  const batcher = createWriteBatcher({
    ...options,
    run: () => {
      throw broken
    },
  })
  await expect(batcher.run('queue', job('a'))).rejects.toBe(broken)
  expect(batcher.busyQueues).toBe(0)
})

it('rejects only the job whose conflict key throws', async () => {
  const { started, options } = batchRunner()
  const conflictKeyOf = ({ name }: { readonly name: string }) => {
    if (name === 'bad') throw broken
    return name
  }
  const batcher = createWriteBatcher({ ...options, conflictKeyOf })
  const settled = Promise.allSettled(['a', 'bad', 'b'].map((name) => batcher.run('queue', job(name))))
  await started[0]!.end()
  await started[1]!.end()
  expect(await settled).toEqual([fulfilled('a done'), refused(broken), fulfilled('b done')])
})
