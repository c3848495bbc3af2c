import { describe, expect, it } from 'vitest'
import { createLanes, type AfterFailure } from '../../../../src/core/lane.js'
import { answered, batchRunner, everythingElse, job, refused } from './batch-runner.js'

const broken = new Error('broken')

/** Three jobs in one batch, which has just begun. */
async function batchOfThree(afterFailure: AfterFailure) {
  const { begun, options } = batchRunner(afterFailure)
  const lanes = createLanes(options)
  void lanes.run('lane', job('first'))
  const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => lanes.run('lane', job(name))))
  await begun[0]!.end()
  expect(begun[1]!.names).toEqual(['a', 'b', 'c'])
  return { lanes, begun, settled, names: () => begun.slice(2).map((batch) => batch.names) }
}

describe('a batch that fails as a whole', () => {
  it('fail: gives its error to each, and the lane goes on', async () => {
    const { begun, lanes, settled } = await batchOfThree('fail')
    const next = lanes.run('lane', job('next'))
    await begun[1]!.fail(broken)
    expect(await settled).toEqual([refused(broken), refused(broken), refused(broken)])
    await begun[2]!.end()
    expect(await next).toBe('next done')
    expect(lanes.busy).toBe(0)
  })

  it('one-by-one: runs each by itself in turn, and only the one to blame fails', async () => {
    const { begun, lanes, settled, names } = await batchOfThree('one-by-one')
    const next = lanes.run('lane', job('next'))
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
    const { begun, lanes, settled, names } = await batchOfThree('at-once')
    const next = lanes.run('lane', job('next'))
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
    const { begun, options } = batchRunner('at-once')
    const lanes = createLanes(options)
    void lanes.run('lane', job('first'))
    void lanes.run('lane', job('hanging'))
    const other = lanes.run('lane', job('other'))
    await begun[0]!.end()
    await begun[1]!.fail(broken)
    await begun[3]!.end()
    expect(await other).toBe('other done')
  })

  it('asks about batches of several only, and with the error', async () => {
    const { begun, options } = batchRunner()
    const asked: unknown[] = []
    const lanes = createLanes({
      ...options,
      afterFailure: (error) => {
        asked.push(error)
        return 'fail'
      },
    })
    const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => lanes.run('lane', job(name))))
    await begun[0]!.fail(new Error('alone'))
    await begun[1]!.fail(broken)
    expect(await settled).toEqual([refused(new Error('alone')), refused(broken), refused(broken)])
    expect(asked).toEqual([broken])
  })

  it('takes what is thrown for a rejection', async () => {
    const lanes = createLanes({
      run: () => {
        throw broken
      },
      turnOf: () => '',
      afterFailure: () => 'fail',
    })
    await expect(lanes.run('lane', 1)).rejects.toBe(broken)
    expect(lanes.busy).toBe(0)
  })

  it('takes a wrong number of answers for a failure, so that nobody waits for ever', async () => {
    const { begun, settled } = await batchOfThree('fail')
    await begun[1]!.end([answered('a done')])
    for (const result of await settled) {
      expect(result).toMatchObject({ reason: new RangeError('A batch of 3 jobs got 1 answers.') })
    }
  })

  it('a fault in afterFailure is told to the callers, and the lane goes on', async () => {
    const { begun, options } = batchRunner()
    const fault = new TypeError('a fault')
    const lanes = createLanes({
      ...options,
      afterFailure: () => {
        throw fault
      },
    })
    const settled = Promise.allSettled(['a', 'b', 'c'].map((name) => lanes.run('lane', job(name))))
    await begun[0]!.end()
    await begun[1]!.fail(broken)
    expect(await settled).toEqual([answered('a done'), refused(fault), refused(fault)])
    const next = lanes.run('lane', job('next'))
    await everythingElse()
    await begun[2]!.end()
    expect(await next).toBe('next done')
  })
})

it('a job that turnOf fails for is refused by itself', async () => {
  const { begun, options } = batchRunner()
  const lanes = createLanes({
    ...options,
    turnOf: ({ name }) => {
      if (name === 'bad') throw broken
      return name
    },
  })
  const settled = Promise.allSettled(['a', 'bad', 'b'].map((name) => lanes.run('lane', job(name))))
  await begun[0]!.end()
  await begun[1]!.end()
  expect(await settled).toEqual([answered('a done'), refused(broken), answered('b done')])
})
