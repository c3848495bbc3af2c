import { describe, expect, it } from 'vitest'
import { StorageError } from '@svc/db'
import { createWriteBatcher } from '../../../../../src/core/store/write-batcher.js'
import { fulfilled, batchRunner, pendingCallbacks, job, refused } from './batch-runner.js'

const names = (started: readonly { readonly names: readonly string[] }[]) =>
  started.map((batch) => batch.names)

describe('createWriteBatcher', () => {
  it('runs a single job in the same tick', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    const result = batcher.run('queue', job('a'))
    expect(names(started)).toEqual([['a']])
    await started[0]!.end()
    expect(await result).toBe('a done')
  })

  it('batches jobs that arrive during a batch, in order of arrival', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    const results = ['a', 'b', 'c', 'd'].map((name) => batcher.run('queue', job(name)))
    expect(names(started)).toEqual([['a']])
    await started[0]!.end()
    expect(names(started)).toEqual([['a'], ['b', 'c', 'd']])
    const late = batcher.run('queue', job('e'))
    await pendingCallbacks()
    expect(started).toHaveLength(2)
    await started[1]!.end()
    await started[2]!.end()
    expect(await Promise.all([...results, late])).toEqual(['a', 'b', 'c', 'd', 'e'].map((n) => `${n} done`))
  })

  it('limits the size of a batch', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher({ ...options, maxBatchSize: 2 })
    for (const name of ['a', 'b', 'c', 'd']) void batcher.run('queue', job(name))
    await started[0]!.end()
    await started[1]!.end()
    expect(names(started)).toEqual([['a'], ['b', 'c'], ['d']])
  })

  it('limits a batch to 64 jobs by default', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    for (let i = 0; i < 100; i++) void batcher.run('queue', job(`${i}`))
    await started[0]!.end()
    await started[1]!.end()
    expect(started.map((batch) => batch.names.length)).toEqual([1, 64, 35])
  })

  it('runs two jobs with one conflict key in separate batches, in order', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    for (const [name, conflictKey] of [
      ['first', 'x'],
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
      ['d', 'z'],
    ] as const) {
      void batcher.run('queue', job(name, conflictKey))
    }
    await started[0]!.end()
    await started[1]!.end()
    expect(names(started)).toEqual([['first'], ['a', 'b'], ['c', 'd']])
  })

  it('does not wait for another queue, even if that one hangs', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    void batcher.run('hanging', job('a'))
    void batcher.run('hanging', job('b'))
    const other = batcher.run('other', job('c'))
    expect(names(started)).toEqual([['a'], ['c']])
    await started[1]!.end()
    expect(await other).toBe('c done')
    expect(batcher.busyQueues).toBe(1)
  })

  it('drops an empty queue', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    expect(batcher.busyQueues).toBe(0)
    void batcher.run('one', job('a'))
    void batcher.run('two', job('b')).catch(() => {})
    expect(batcher.busyQueues).toBe(2)
    await started[0]!.end()
    await started[1]!.fail(new Error('no'))
    expect(batcher.busyQueues).toBe(0)
    void batcher.run('one', job('c'))
    expect(names(started)).toEqual([['a'], ['b'], ['c']])
  })

  it('rejects a job with a reason if too many are waiting', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher({ ...options, maxWaiting: 2 })
    const results = ['a', 'b', 'c'].map((name) => batcher.run('queue', job(name)))
    const error: unknown = await batcher.run('queue', job('d')).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: 'Too many writes of one scope: 2 are waiting already, so this one was not started.',
    })
    // Other batchers still accept jobs, and so does this one after a batch.
    void batcher.run('other', job('e'))
    await started[0]!.end()
    const later = batcher.run('queue', job('f'))
    await started[2]!.end()
    await started[3]!.end()
    expect(await Promise.all([...results, later])).toEqual(['a done', 'b done', 'c done', 'f done'])
    expect(started.flatMap((batch) => batch.names)).not.toContain('d')
  })

  it('settles each caller with its own result or error', async () => {
    const { started, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    const calls = ['a', 'b', 'c', 'd'].map((name) => batcher.run('queue', job(name)))
    await Promise.all([
      started[0]!.end([refused('a refused')]),
      pendingCallbacks().then(() =>
        started[1]!.end([fulfilled('b done'), refused('c refused'), fulfilled('d done')]),
      ),
      expect(Promise.allSettled(calls)).resolves.toEqual([
        refused('a refused'),
        fulfilled('b done'),
        refused('c refused'),
        fulfilled('d done'),
      ]),
    ])
  })
})
