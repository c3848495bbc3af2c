import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { positionAfter } from '../../../../src/core/store/attempt-id.js'
import { NOON } from '../settable-clock.js'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const timeIn = (id: string) => parseInt(id.replaceAll('-', '').slice(0, 12), 16)

/** Loads another copy of the library, because a sequence of ids is per process. */
async function newSequence(): Promise<(time?: number) => string> {
  vi.resetModules()
  const { createAttemptId } = await import('@svc/db')
  return (time) => createAttemptId(time === undefined ? {} : { now: () => new Date(time) })
}

describe('createAttemptId', () => {
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
    // Otherwise files that the same worker runs later continue the sequence of a test.
    vi.resetModules()
  })

  it('uses the system clock by default', async () => {
    const create = await newSequence()
    vi.useFakeTimers({ toFake: ['Date'], now: NOON })
    expect(timeIn(create())).toBe(NOON.getTime())
  })

  it('returns UUIDv7s that sort strictly by creation for any clocks, and follow a clock that runs ahead', async () => {
    const create = await newSequence()
    let latest = 0
    fc.assert(
      fc.property(fc.array(fc.date({ noInvalidDate: false }), { minLength: 2 }), (times) => {
        const ids = times.flatMap((time) => [create(time.getTime()), create(time.getTime())])
        for (const id of ids) expect(id).toMatch(UUID_V7)
        expect(ids).toEqual([...new Set(ids)].sort())
        const times48 = times.map((time) => time.getTime()).filter((time) => time < 2 ** 48)
        latest = Math.max(latest, ...times48)
        expect(timeIn(ids.at(-1)!)).toBe(latest)
      }),
    )
  })

  it('does not repeat in another process in the same millisecond, and has random bits that differ', async () => {
    const ids: string[] = []
    for (let process = 0; process < 2; process++) {
      const create = await newSequence()
      for (let count = 0; count < 100; count++) ids.push(create(NOON.getTime()))
    }
    expect(new Set(ids).size).toBe(200)
    expect(new Set(ids.map((id) => id.slice(-10))).size).toBe(200)
  })

  it.each([
    ['starts each millisecond in the lower half of the counter', [0xff], '77ff-bfff-ffffffffffff'],
    [
      'uses 31 bits for the counter and 42 for the tail',
      [0x12, 0x34, 0x56, 0x78, 0x02, 0xab, 0xcd, 0xef, 0x01, 0x23],
      '7091-a8ac-f2abcdef0123',
    ],
  ])('%s', async (_, random, tail) => {
    vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
      if (array instanceof Uint8Array) array.forEach((_byte, i) => (array[i] = random[i % random.length]!))
      return array
    })
    expect((await newSequence())(NOON.getTime()).slice(14)).toBe(tail)
  })
})

it('the position of an id in the sequence always moves forward, also when the counter is full', () => {
  const LAST_NUMBER = 2 ** 32 - 1
  expect(positionAfter({ time: 5, counter: LAST_NUMBER }, 5, 1)).toEqual({ time: 6, counter: 0 })
  const counter = fc.oneof(fc.nat({ max: LAST_NUMBER }), fc.constantFrom(LAST_NUMBER - 1, LAST_NUMBER))
  const position = fc.record({ time: fc.maxSafeNat(), counter })
  fc.assert(
    fc.property(position, fc.maxSafeInteger(), fc.nat(), (last, clock, start) => {
      const next = positionAfter(last, clock, start)
      expect(next.time > last.time || (next.time === last.time && next.counter > last.counter)).toBe(true)
      expect(next.counter).toBeLessThanOrEqual(LAST_NUMBER)
    }),
  )
})
