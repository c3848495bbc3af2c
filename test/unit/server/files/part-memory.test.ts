import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPartMemory, type PartInMemory } from '../../../../src/server/files/part-memory.js'
import { iterableOf, PART, streamOf } from './bodies.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

/** The bytes of parts that a process holds, as docs/files.md states. */
const MAX_PARTS = 16

const HALF_A_MINUTE = 30_000

/** Returns which of these parts have their memory. */
async function ready(...parts: readonly PartInMemory[]): Promise<boolean[]> {
  const found = parts.map(() => false)
  for (const [index, part] of parts.entries()) void part.ready.then(() => (found[index] = true))
  await Promise.resolve()
  await Promise.resolve()
  return found
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
})

describe('the memory of parts', () => {
  it('is given in the order of the calls, up to its size', async () => {
    const take = createPartMemory(10)
    const [first, second, third, fourth] = [take(6), take(4), take(5), take(1)]
    expect(await ready(first, second, third, fourth)).toEqual([true, true, false, false])
    second.release(true)
    expect(await ready(third, fourth)).toEqual([false, false])
    first.release(false)
    expect(await ready(third, fourth)).toEqual([true, true])
    expect([third.bytes.byteLength, fourth.bytes.byteLength]).toEqual([5, 1])
    for (const part of [third, fourth]) part.release(true)
  })

  it('is given to a part that is larger than all of it, alone', async () => {
    const take = createPartMemory(10)
    const [small, large, later] = [take(1), take(11), take(1)]
    expect(await ready(small, large, later)).toEqual([true, false, false])
    small.release(true)
    expect(await ready(large, later)).toEqual([true, false])
    large.release(true)
    expect(await ready(later)).toEqual([true])
    later.release(true)
  })

  it('is kept free by a part that leaves the line', async () => {
    const take = createPartMemory(10)
    const [first, gone, later] = [take(10), take(10), take(10)]
    gone.release(true)
    gone.release(true)
    first.release(true)
    first.release(true)
    expect(await ready(later)).toEqual([true])
    later.release(true)
    expect(await ready(gone)).toEqual([false])
  })

  it('is used again for parts of the usual size, once nothing reads it', async () => {
    const take = createPartMemory(3 * PART)
    const [first, second, third] = [take(PART), take(PART), take(PART)]
    const { bytes } = second
    second.release(true)
    third.release(false)
    const [again, fresh] = [take(PART), take(PART)]
    expect([again.bytes === bytes, fresh.bytes === third.bytes]).toEqual([true, false])
    again.release(true)
    fresh.release(true)
    // What is kept for the next part gives way to a part of another size.
    const other = take(2 * PART)
    expect(await ready(other)).toEqual([true])
    for (const part of [other, first]) part.release(true)
    expect(take(PART).bytes === bytes).toBe(false)
  })

  it('counts no part that stands still while others wait, until it goes on', async () => {
    const take = createPartMemory(10)
    const [still, moving] = [take(6), take(4)]
    await vi.advanceTimersByTimeAsync(10 * HALF_A_MINUTE)
    const [next, last] = [take(6), take(6)]
    await vi.advanceTimersByTimeAsync(HALF_A_MINUTE)
    moving.touch()
    expect(await ready(next, last)).toEqual([false, false])
    await vi.advanceTimersByTimeAsync(HALF_A_MINUTE)
    expect(await ready(next, last)).toEqual([true, false])
    still.touch()
    next.release(true)
    expect(await ready(last)).toEqual([false])
    still.release(true)
    expect(await ready(last)).toEqual([true])
    for (const part of [moving, last]) part.release(true)
  })
})

describe('many calls of files.put', () => {
  it.each(['abort', 'error'] as const)(
    'wait for bodies that stand still, at most until their %s',
    async (end) => {
      const { files, keys, expectNothing } = watchedService()
      const abort = new AbortController()
      let fail = (_error: Error): void => undefined
      const wait = new Promise<never>((_, reject) => (fail = reject))
      wait.catch(() => undefined)
      const half = new Uint8Array(PART / 2)
      const stalled = Array.from({ length: MAX_PARTS }, (_, index) => {
        const { body } = (index % 2 ? iterableOf : streamOf)([half], { wait })
        return rejection(files.put({ scope: OWNER, body, size: PART, signal: abort.signal }))
      })
      // Lets all of them take their bytes.
      await vi.advanceTimersByTimeAsync(0)
      const waiting = files.put({ scope: OWNER, body: 'x' })
      await vi.advanceTimersByTimeAsync(HALF_A_MINUTE)
      expect([...keys]).toEqual([])
      if (end === 'abort') abort.abort(new Error('shut down'))
      else fail(new Error('reset'))
      await files.delete({ key: (await waiting).key, mode: 'hard' })
      await Promise.all(stalled)
      await expectNothing()
    },
  )

  it('go on after a minute although others stand still', async () => {
    const { files } = watchedService()
    const abort = new AbortController()
    const { signal } = abort
    const body = () => iterableOf([new Uint8Array(1)], { wait: new Promise(() => undefined) }).body
    const stalled = Array.from({ length: MAX_PARTS }, () =>
      rejection(files.put({ scope: OWNER, body: body(), size: PART, signal })),
    )
    await vi.advanceTimersByTimeAsync(0)
    const stored = files.put({ scope: OWNER, body: 'x' })
    await vi.advanceTimersByTimeAsync(2 * HALF_A_MINUTE)
    expect(await stored).toMatchObject({ size: 1 })
    abort.abort()
    await Promise.all(stalled)
  })
})
