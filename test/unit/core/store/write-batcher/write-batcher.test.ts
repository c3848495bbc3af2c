import { describe, expect, it } from 'vitest'
import { StorageError } from '@svc/db'
import { createWriteBatcher } from '../../../../../src/core/store/write-batcher.js'
import { answered, batchRunner, everythingElse, job, refused } from './batch-runner.js'

const names = (begun: readonly { readonly names: readonly string[] }[]) => begun.map((batch) => batch.names)

describe('createWriteBatcher', () => {
  it('runs the job of a caller that is alone in the same tick', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    const answer = batcher.run('queue', job('a'))
    expect(names(begun)).toEqual([['a']])
    await begun[0]!.end()
    expect(await answer).toBe('a done')
  })

  it('makes the next batch of what arrives while one is in flight, in the order of arrival', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    const answers = ['a', 'b', 'c', 'd'].map((name) => batcher.run('queue', job(name)))
    expect(names(begun)).toEqual([['a']])
    await begun[0]!.end()
    expect(names(begun)).toEqual([['a'], ['b', 'c', 'd']])
    const late = batcher.run('queue', job('e'))
    await everythingElse()
    expect(begun).toHaveLength(2)
    await begun[1]!.end()
    await begun[2]!.end()
    expect(await Promise.all([...answers, late])).toEqual(['a', 'b', 'c', 'd', 'e'].map((n) => `${n} done`))
  })

  it('puts at most so many in a batch', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher({ ...options, maxBatchSize: 2 })
    for (const name of ['a', 'b', 'c', 'd']) void batcher.run('queue', job(name))
    await begun[0]!.end()
    await begun[1]!.end()
    expect(names(begun)).toEqual([['a'], ['b', 'c'], ['d']])
  })

  it('puts at most 64 in a batch, if nothing else is said', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    for (let i = 0; i < 100; i++) void batcher.run('queue', job(`${i}`))
    await begun[0]!.end()
    await begun[1]!.end()
    expect(begun.map((batch) => batch.names.length)).toEqual([1, 64, 35])
  })

  it('gives two jobs on one thing a batch each, and lets nobody overtake', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    for (const [name, thing] of [
      ['first', 'x'],
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
      ['d', 'z'],
    ] as const) {
      void batcher.run('queue', job(name, thing))
    }
    await begun[0]!.end()
    await begun[1]!.end()
    expect(names(begun)).toEqual([['first'], ['a', 'b'], ['c', 'd']])
  })

  it('does not wait for another queue, not even for one that hangs', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    void batcher.run('hanging', job('a'))
    void batcher.run('hanging', job('b'))
    const other = batcher.run('other', job('c'))
    expect(names(begun)).toEqual([['a'], ['c']])
    await begun[1]!.end()
    expect(await other).toBe('c done')
    expect(batcher.busyQueues).toBe(1)
  })

  it('is forgotten when nobody is in it', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    expect(batcher.busyQueues).toBe(0)
    void batcher.run('one', job('a'))
    void batcher.run('two', job('b')).catch(() => {})
    expect(batcher.busyQueues).toBe(2)
    await begun[0]!.end()
    await begun[1]!.fail(new Error('no'))
    expect(batcher.busyQueues).toBe(0)
    void batcher.run('one', job('c'))
    expect(names(begun)).toEqual([['a'], ['b'], ['c']])
  })

  it('refuses a job where too many wait, and tells why', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher({ ...options, maxWaiting: 2 })
    const answers = ['a', 'b', 'c'].map((name) => batcher.run('queue', job(name)))
    const error: unknown = await batcher.run('queue', job('d')).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: 'Too many writes of one scope: 2 are waiting already, so this one was not started.',
    })
    // Other batcher have room, and so has this one when some of it is done.
    void batcher.run('other', job('e'))
    await begun[0]!.end()
    const later = batcher.run('queue', job('f'))
    await begun[2]!.end()
    await begun[3]!.end()
    expect(await Promise.all([...answers, later])).toEqual(['a done', 'b done', 'c done', 'f done'])
    expect(begun.flatMap((batch) => batch.names)).not.toContain('d')
  })

  it('gives each caller its own answer or error', async () => {
    const { begun, options } = batchRunner()
    const batcher = createWriteBatcher(options)
    const calls = ['a', 'b', 'c', 'd'].map((name) => batcher.run('queue', job(name)))
    await Promise.all([
      begun[0]!.end([refused('a refused')]),
      everythingElse().then(() =>
        begun[1]!.end([answered('b done'), refused('c refused'), answered('d done')]),
      ),
      expect(Promise.allSettled(calls)).resolves.toEqual([
        refused('a refused'),
        answered('b done'),
        refused('c refused'),
        answered('d done'),
      ]),
    ])
  })
})
