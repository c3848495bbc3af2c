import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { createAttemptId as CreateAttemptId } from '@svc/db'
import { positionAfter } from '../../../../src/core/store/attempt-id.js'
import { NOON, settableClock } from '../settable-clock.js'

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

function timeIn(id: string): number {
  return parseInt(id.replaceAll('-', '').slice(0, 12), 16)
}

function expectStrictlyIncreasing(ids: readonly string[]): void {
  expect(ids).toEqual([...new Set(ids)].sort())
}

describe('createAttemptId', () => {
  let createAttemptId: typeof CreateAttemptId

  // The sequence is per process, so each test loads its own copy.
  beforeEach(async () => {
    vi.resetModules()
    createAttemptId = (await import('@svc/db')).createAttemptId
  })

  it('returns a lower-case, hyphenated UUIDv7 of the system time', () => {
    const before = Date.now()
    const id = createAttemptId()
    expect(id).toMatch(UUID_V7)
    expect(timeIn(id)).toBeGreaterThanOrEqual(before)
    expect(timeIn(id)).toBeLessThanOrEqual(Date.now())
  })

  it('uses the time of the given clock', () => {
    const id = createAttemptId({ now: () => NOON })
    expect(timeIn(id)).toBe(NOON.getTime())
  })

  it('uses the system clock by default', () => {
    const before = Date.now()
    expect(timeIn(createAttemptId({ now: undefined }))).toBeGreaterThanOrEqual(before)
  })

  it('sorts strictly by creation while the clock stands still', () => {
    const ids = Array.from({ length: 20_000 }, () => createAttemptId({ now: () => NOON }))
    expectStrictlyIncreasing(ids)
    expect(new Set(ids.map(timeIn))).toEqual(new Set([NOON.getTime()]))
  })

  it('sorts strictly by creation when the clock goes back, and keeps the latest time', () => {
    const clock = settableClock()
    const first = createAttemptId(clock)
    clock.advance(-86_400_000)
    const second = createAttemptId(clock)
    expectStrictlyIncreasing([first, second])
    expect(timeIn(second)).toBe(NOON.getTime())
  })

  it('follows a clock that jumps forward', () => {
    const clock = settableClock()
    const first = createAttemptId(clock)
    clock.advance(86_400_000)
    const second = createAttemptId(clock)
    expectStrictlyIncreasing([first, second])
    expect(timeIn(second)).toBe(clock.now().getTime())
  })

  it('is one sequence for two different clocks', () => {
    const early = settableClock()
    const late = settableClock(new Date('2027-01-01T00:00:00.000Z'))
    const ids = [early, late, early, early, late, early].map((clock) => createAttemptId(clock))
    expectStrictlyIncreasing(ids)
  })

  it('sorts strictly by creation and stays a UUIDv7 for any clock', () => {
    fc.assert(
      fc.property(fc.array(fc.date({ noInvalidDate: false }), { minLength: 2 }), (times) => {
        const ids = times.map((time) => createAttemptId({ now: () => time }))
        for (const id of ids) expect(id).toMatch(UUID_V7)
        expectStrictlyIncreasing(ids)
      }),
    )
  })

  it('does not repeat in another process in the same millisecond', async () => {
    const here = Array.from({ length: 1000 }, () => createAttemptId({ now: () => NOON }))
    vi.resetModules()
    const other = await import('@svc/db')
    const there = Array.from({ length: 1000 }, () => other.createAttemptId({ now: () => NOON }))
    expect(new Set([...here, ...there]).size).toBe(2000)
  })

  it('cannot be guessed from the previous id: 42 bits are random', () => {
    const tails = Array.from({ length: 100 }, () => createAttemptId({ now: () => NOON }).slice(-10))
    expect(new Set(tails).size).toBe(100)
  })

  describe('with known random bytes', () => {
    afterEach(() => {
      vi.restoreAllMocks()
      // Otherwise files that the same worker runs later get ids from these bytes.
      vi.resetModules()
    })

    function idOf(...random: readonly number[]): string {
      vi.spyOn(crypto, 'getRandomValues').mockImplementation((array) => {
        if (array instanceof Uint8Array) array.forEach((_, i) => (array[i] = random[i % random.length]!))
        return array
      })
      return createAttemptId({ now: () => NOON })
    }

    it('starts each millisecond in the lower half of the counter', () => {
      const most = Array.from({ length: 10 }, () => 0xff)
      expect(idOf(...most).slice(14)).toBe('77ff-bfff-ffffffffffff')
      expect(idOf(...most).slice(14)).toBe('7800-8000-03ffffffffff')
    })

    it('uses 31 bits for the counter and 42 for the tail', () => {
      expect(idOf(0x12, 0x34, 0x56, 0x78, 0x02, 0xab, 0xcd, 0xef, 0x01, 0x23).slice(14)).toBe(
        '7091-a8ac-f2abcdef0123',
      )
    })
  })
})

describe('the position of an id in the sequence', () => {
  const LAST_NUMBER = 2 ** 32 - 1

  it('counts within a millisecond', () => {
    expect(positionAfter({ time: 5, counter: 7 }, 5, 1)).toEqual({ time: 5, counter: 8 })
  })

  it('restarts the counter in a later millisecond', () => {
    expect(positionAfter({ time: 5, counter: 7 }, 6, 1)).toEqual({ time: 6, counter: 1 })
  })

  it('continues in the next millisecond when the counter is full', () => {
    expect(positionAfter({ time: 5, counter: LAST_NUMBER - 1 }, 5, 1)).toEqual({
      time: 5,
      counter: LAST_NUMBER,
    })
    expect(positionAfter({ time: 5, counter: LAST_NUMBER }, 5, 1)).toEqual({ time: 6, counter: 0 })
  })

  it('treats a clock above 48 bits or without a time as standing still', () => {
    for (const clock of [2 ** 48, 8.64e15, NaN]) {
      expect(positionAfter({ time: 5, counter: 7 }, clock, 1)).toEqual({ time: 5, counter: 8 })
    }
    expect(positionAfter({ time: 5, counter: 7 }, 2 ** 48 - 1, 1)).toEqual({ time: 2 ** 48 - 1, counter: 1 })
  })

  it('always moves forward', () => {
    const position = fc.record({ time: fc.maxSafeNat(), counter: fc.nat({ max: LAST_NUMBER }) })
    fc.assert(
      fc.property(position, fc.maxSafeInteger(), fc.nat(), (last, clock, start) => {
        const next = positionAfter(last, clock, start)
        expect(next.time > last.time || (next.time === last.time && next.counter > last.counter)).toBe(true)
        expect(next.counter).toBeLessThanOrEqual(LAST_NUMBER)
      }),
    )
  })
})
