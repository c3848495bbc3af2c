import { describe, expect, it } from 'vitest'
import { StorageError } from '@svc/db'
import { createLanes } from '../../../../src/core/lane.js'
import { answered, batchRunner, everythingElse, job, refused } from './batch-runner.js'

const names = (begun: readonly { readonly names: readonly string[] }[]) => begun.map((batch) => batch.names)

describe('a lane', () => {
  it('runs the job of a caller that is alone in the same tick', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    const answer = lanes.run('lane', job('a'))
    expect(names(begun)).toEqual([['a']])
    await begun[0]!.end()
    expect(await answer).toBe('a done')
  })

  it('makes the next batch of what arrives while one is in flight, in the order of arrival', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    const answers = ['a', 'b', 'c', 'd'].map((name) => lanes.run('lane', job(name)))
    expect(names(begun)).toEqual([['a']])
    await begun[0]!.end()
    expect(names(begun)).toEqual([['a'], ['b', 'c', 'd']])
    const late = lanes.run('lane', job('e'))
    await everythingElse()
    expect(begun).toHaveLength(2)
    await begun[1]!.end()
    await begun[2]!.end()
    expect(await Promise.all([...answers, late])).toEqual(['a', 'b', 'c', 'd', 'e'].map((n) => `${n} done`))
  })

  it('puts at most so many in a batch', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes({ ...options, maxTogether: 2 })
    for (const name of ['a', 'b', 'c', 'd']) void lanes.run('lane', job(name))
    await begun[0]!.end()
    await begun[1]!.end()
    expect(names(begun)).toEqual([['a'], ['b', 'c'], ['d']])
  })

  it('puts at most 64 in a batch, if nothing else is said', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    for (let i = 0; i < 100; i++) void lanes.run('lane', job(`${i}`))
    await begun[0]!.end()
    await begun[1]!.end()
    expect(begun.map((batch) => batch.names.length)).toEqual([1, 64, 35])
  })

  it('gives two jobs on one thing a batch each, and lets nobody overtake', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    for (const [name, thing] of [
      ['first', 'x'],
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
      ['d', 'z'],
    ] as const) {
      void lanes.run('lane', job(name, thing))
    }
    await begun[0]!.end()
    await begun[1]!.end()
    expect(names(begun)).toEqual([['first'], ['a', 'b'], ['c', 'd']])
  })

  it('does not wait for another lane, not even for one that hangs', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    void lanes.run('hanging', job('a'))
    void lanes.run('hanging', job('b'))
    const other = lanes.run('other', job('c'))
    expect(names(begun)).toEqual([['a'], ['c']])
    await begun[1]!.end()
    expect(await other).toBe('c done')
    expect(lanes.busy).toBe(1)
  })

  it('is forgotten when nobody is in it', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    expect(lanes.busy).toBe(0)
    void lanes.run('one', job('a'))
    void lanes.run('two', job('b')).catch(() => {})
    expect(lanes.busy).toBe(2)
    await begun[0]!.end()
    await begun[1]!.fail(new Error('no'))
    expect(lanes.busy).toBe(0)
    void lanes.run('one', job('c'))
    expect(names(begun)).toEqual([['a'], ['b'], ['c']])
  })

  it('refuses a job where too many wait, and tells why', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes({ ...options, maxWaiting: 2 })
    const answers = ['a', 'b', 'c'].map((name) => lanes.run('lane', job(name)))
    const error: unknown = await lanes.run('lane', job('d')).catch((reason: unknown) => reason)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({
      code: 'DATABASE_UNAVAILABLE',
      message: '2 writes of one scope are waiting already; this one was not begun.',
    })
    // Other lanes have room, and so has this one when some of it is done.
    void lanes.run('other', job('e'))
    await begun[0]!.end()
    const later = lanes.run('lane', job('f'))
    await begun[2]!.end()
    await begun[3]!.end()
    expect(await Promise.all([...answers, later])).toEqual(['a done', 'b done', 'c done', 'f done'])
    expect(begun.flatMap((batch) => batch.names)).not.toContain('d')
  })

  it('gives each caller its own answer or error', async () => {
    const { begun, options } = batchRunner()
    const lanes = createLanes(options)
    const calls = ['a', 'b', 'c', 'd'].map((name) => lanes.run('lane', job(name)))
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
