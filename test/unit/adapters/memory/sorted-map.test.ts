import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SortedMap } from '../../../../src/adapters/memory/sorted-map.js'

/** Larger than several chunks of the map. */
const KEYS = 3000

const keyOf = (number: number) => String(number).padStart(5, '0')

interface Run {
  readonly act: 'set' | 'delete'
  readonly start: number
  readonly count: number
  readonly stride: number
  readonly backwards: boolean
}

/** Changes many entries at once, which splits and empties chunks. */
const run: fc.Arbitrary<Run> = fc.record({
  act: fc.constantFrom('set', 'set', 'delete'),
  start: fc.nat({ max: KEYS - 1 }),
  count: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 1500 })),
  stride: fc.constantFrom(1, 1, 2, 7),
  backwards: fc.boolean(),
})

const bound = fc.option(fc.nat({ max: KEYS }).map(keyOf))
const limit = fc.oneof(fc.constantFrom(1, 100, Infinity), fc.integer({ min: 1, max: 600 }))

/** Keeps the same entries in a SortedMap and in a plain Map. */
class MapWithModel {
  readonly map = new SortedMap<string>()
  readonly model = new Map<string, string>()
  #version = 0

  apply({ act, start, count, stride, backwards }: Run): void {
    const numbers = Array.from({ length: count }, (_, index) => (start + index * stride) % KEYS)
    if (backwards) numbers.reverse()
    for (const number of numbers) {
      if (act === 'set') this.#set(keyOf(number))
      else this.#delete(keyOf(number))
    }
  }

  sorted(): [string, string][] {
    return [...this.model].sort(([one], [other]) => (one < other ? -1 : 1))
  }

  #set(key: string): void {
    const value = `${key} #${this.#version++}`
    this.map.set(key, value)
    this.model.set(key, value)
  }

  #delete(key: string): void {
    expect(this.map.delete(key)).toBe(this.model.delete(key))
  }
}

function filledBy(runs: readonly Run[]): MapWithModel {
  const both = new MapWithModel()
  for (const one of runs) both.apply(one)
  return both
}

describe('SortedMap, compared with a sorted array,', () => {
  const runs = fc.array(run, { maxLength: 12 })

  it('has the same size', () => {
    fc.assert(
      fc.property(runs, (all) => {
        const { map, model } = filledBy(all)
        expect(map.size).toBe(model.size)
      }),
      { numRuns: 40 },
    )
  })

  it('has the same value under each key', () => {
    fc.assert(
      fc.property(runs, (all) => {
        const { map, model } = filledBy(all)
        for (let number = 0; number <= KEYS; number++) {
          expect(map.get(keyOf(number))).toBe(model.get(keyOf(number)))
        }
      }),
      { numRuns: 10 },
    )
  })

  it('returns the same range in ascending order', () => {
    fc.assert(
      fc.property(runs, bound, bound, limit, (all, after, upTo, most) => {
        const both = filledBy(all)
        const expected = both
          .sorted()
          .filter(([key]) => (after === null || key > after) && (upTo === null || key <= upTo))
          .slice(0, most)
          .map(([, value]) => value)
        expect(both.map.ascending(after, upTo, most)).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  it('returns the same range in descending order', () => {
    fc.assert(
      fc.property(runs, bound, limit, (all, before, most) => {
        const both = filledBy(all)
        const expected = both
          .sorted()
          .reverse()
          .filter(([key]) => before === null || key < before)
          .slice(0, most)
          .map(([, value]) => value)
        expect(both.map.descending(before, most)).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  it('returns the same values page by page', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 50, max: 400 }), (all, page) => {
        const both = filledBy(all)
        const found: string[] = []
        for (let after: string | null = null; ;) {
          const values = both.map.ascending(after, null, page)
          found.push(...values)
          if (values.length < page) break
          after = values.at(-1)!.slice(0, 5)
        }
        expect(found).toEqual(both.sorted().map(([, value]) => value))
      }),
      { numRuns: 40 },
    )
  })
})

describe('SortedMap', () => {
  const filled = (count: number) => {
    const map = new SortedMap<number>()
    for (let number = 0; number < count; number++) map.set(keyOf(number), number)
    return map
  }

  it('starts empty and returns nothing for any bound', () => {
    const map = new SortedMap<number>()
    expect(map.size).toBe(0)
    expect(map.ascending(null, null, 10)).toEqual([])
    expect(map.ascending('a', 'b', 10)).toEqual([])
    expect(map.descending(null, 10)).toEqual([])
    expect(map.descending('a', 10)).toEqual([])
    expect(map.get('a')).toBeUndefined()
    expect(map.delete('a')).toBe(false)
  })

  it('replaces the value of an existing key', () => {
    const map = filled(600)
    map.set(keyOf(300), -1)
    expect(map.size).toBe(600)
    expect(map.ascending(keyOf(299), keyOf(300), 10)).toEqual([-1])
  })

  it('works after every entry was deleted', () => {
    const map = filled(2000)
    for (let number = 0; number < 2000; number++) map.delete(keyOf(number))
    expect(map.size).toBe(0)
    expect(map.ascending(null, null, Infinity)).toEqual([])
    expect(map.descending(null, Infinity)).toEqual([])
    map.set(keyOf(5), 5)
    expect(map.descending(null, 10)).toEqual([5])
  })

  it('returns ranges that span deleted entries', () => {
    const map = filled(2000)
    for (let number = 500; number < 1600; number++) map.delete(keyOf(number))
    expect(map.ascending(keyOf(498), null, 3)).toEqual([499, 1600, 1601])
    expect(map.descending(keyOf(1601), 3)).toEqual([1600, 499, 498])
    expect(map.ascending(keyOf(700), null, 1)).toEqual([1600])
    expect(map.descending(keyOf(700), 1)).toEqual([499])
  })

  it('returns a new array each time', () => {
    const map = filled(3)
    map.ascending(null, null, 10).pop()
    map.descending(null, 10).pop()
    expect(map.ascending(null, null, 10)).toEqual([0, 1, 2])
  })
})
