import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { backOff, createDeadline, type Call } from '../../../../src/adapters/mongo/connection/deadline.js'
import { WRITE_CONFLICT } from '../../../../src/adapters/mongo/connection/failure-table.js'
import type { Unreachable } from '../../../../src/adapters/mongo/connection/topology.js'

const conflict = Object.assign(new Error('WriteConflict'), { code: WRITE_CONFLICT })
const closed = new Error('connection closed')
const NO_PRIMARY = { message: 'The replica set has no primary.', cause: closed, retryable: true }

/** Lets a call time out that was retried after this error. */
function timeOut(lastError: unknown, unreachable: Unreachable | null): Promise<never> {
  const limit = createDeadline({ timeout: 1, writes: true, whyUnreachable: () => unreachable })
  return limit((call: Call) => {
    call.lastError = lastError
    return new Promise<never>(() => {})
  })
}

describe('a call of MongoDB that times out', () => {
  it('names other transactions if they blocked it and a primary is there', async () => {
    await expect(timeOut(conflict, null)).rejects.toMatchObject({
      message: expect.stringMatching(/^Other transactions blocked this call for 0\.001 s.*unknown/) as string,
      cause: conflict,
    })
  })

  it('names the missing primary if that went away while others blocked the call', async () => {
    await expect(timeOut(conflict, NO_PRIMARY)).rejects.toMatchObject({
      message: expect.stringMatching(/^The replica set has no primary\. .* 0\.001 s\. .*unknown/) as string,
      cause: closed,
    })
  })

  it('names the missing primary with the error that was retried last', async () => {
    const lost = new Error('socket hang up')
    await expect(timeOut(lost, NO_PRIMARY)).rejects.toMatchObject({
      message: expect.stringMatching(/^The replica set has no primary\./) as string,
      cause: lost,
    })
  })
})

it('lets an old call pause for a shorter time than a new one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
  vi.spyOn(Math, 'random').mockReturnValue(1)
  onTestFinished(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })
  const ended: string[] = []
  const now = performance.now()
  void backOff(20, now).then(() => ended.push('new'))
  void backOff(20, now - 2000).then(() => ended.push('2 s'))
  void backOff(20, now - 20_000).then(() => ended.push('20 s'))
  await vi.advanceTimersByTimeAsync(25)
  expect(ended).toEqual(['20 s'])
  await vi.advanceTimersByTimeAsync(25)
  expect(ended).toEqual(['20 s', '2 s'])
  await vi.advanceTimersByTimeAsync(50)
  expect(ended).toEqual(['20 s', '2 s', 'new'])
})
