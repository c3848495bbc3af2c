import fc from 'fast-check'
import { expect, it } from 'vitest'
import { datePosition, endOfDate, SortedMap } from '../../../../src/adapters/memory/sorted-map.js'

// The conformance suite tests the memory adapter. It has too few rows for several chunks of a map, and no dates of all years.

/** Larger than several chunks of the map. */
const KEYS = 3000
const keyOf = (number: number) => String(number).padStart(5, '0')

/** Changes many entries at once, which splits and empties chunks. */
const run = fc.record({
  act: fc.constantFrom('set', 'set', 'delete'),
  start: fc.nat({ max: KEYS - 1 }),
  count: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 1500 })),
  stride: fc.constantFrom(1, 1, 2, 7),
  backwards: fc.boolean(),
})
const bound = fc.option(fc.nat({ max: KEYS }).map(keyOf))
const limit = fc.oneof(fc.constantFrom(1, 100, Infinity), fc.integer({ min: 1, max: 600 }))
const range = fc.record({ after: bound, upTo: bound, limit })

it('a sorted map has the values and ranges of a sorted array', () => {
  fc.assert(
    fc.property(fc.array(run, { maxLength: 12 }), fc.array(range, { minLength: 5 }), (runs, ranges) => {
      const map = new SortedMap<string>()
      const model = new Map<string, string>()
      let version = 0
      for (const { act, start, count, stride, backwards } of runs) {
        const keys = Array.from({ length: count }, (_, index) => keyOf((start + index * stride) % KEYS))
        if (backwards) keys.reverse()
        if (act === 'delete') {
          expect(keys.map((key) => map.delete(key))).toEqual(keys.map((key) => model.delete(key)))
          continue
        }
        for (const key of keys) {
          const value = `${key} #${version++}`
          map.set(key, value)
          model.set(key, value)
        }
      }
      const sorted = [...model].sort(([one], [other]) => (one < other ? -1 : 1))
      const values = (entries: typeof sorted) => entries.map(([, value]) => value)
      expect(map.size).toBe(model.size)
      expect(map.ascending(null, null, Infinity)).toEqual(values(sorted))
      for (const { after, upTo, limit: most } of ranges) {
        const above = sorted.filter(
          ([key]) => (after === null || key > after) && (upTo === null || key <= upTo),
        )
        expect(map.ascending(after, upTo, most)).toEqual(values(above).slice(0, most))
        const below = sorted.filter(([key]) => upTo === null || key < upTo)
        expect(map.descending(upTo, most)).toEqual(values(below.reverse()).slice(0, most))
        const key = after ?? keyOf(0)
        expect(map.get(key)).toBe(model.get(key))
      }
    }),
    { numRuns: 30 },
  )
})

it('a position sorts by date, from year 1 to 9999, then by id, and ends before the next millisecond', () => {
  const [first, last] = [new Date('0001-01-01T00:00:00.000Z'), new Date('9999-12-31T23:59:59.998Z')]
  const date = fc.date({ min: first, max: last, noInvalidDate: true })
  const order = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)
  const id = fc.uuid({ version: 7 })
  fc.assert(
    fc.property(date, id, fc.option(date), id, (one, oneId, other, otherId) => {
      const otherDate = other ?? one
      const expected = Math.sign(one.getTime() - otherDate.getTime()) || order(oneId, otherId)
      expect(order(datePosition(one, oneId), datePosition(otherDate, otherId))).toBe(expected)
      const next = new Date(one.getTime() + 1)
      expect(order(datePosition(one, oneId), endOfDate(one))).toBe(-1)
      expect(order(endOfDate(one), datePosition(next, oneId))).toBe(-1)
    }),
  )
})
