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

/** Many entries at once, so that chunks split and empty. */
const run: fc.Arbitrary<Run> = fc.record({
  act: fc.constantFrom('set', 'set', 'delete'),
  start: fc.nat({ max: KEYS - 1 }),
  count: fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 1500 })),
  stride: fc.constantFrom(1, 1, 2, 7),
  backwards: fc.boolean(),
})

const bound = fc.option(fc.nat({ max: KEYS }).map(keyOf))
const limit = fc.oneof(fc.constantFrom(1, 100, Infinity), fc.integer({ min: 1, max: 600 }))

/** The same entries in the map, and in the plainest thing that can hold them. */
class Twins {
  readonly map = new SortedMap<string>()
  readonly plain = new Map<string, string>()
  #version = 0

  take({ act, start, count, stride, backwards }: Run): void {
    const numbers = Array.from({ length: count }, (_, index) => (start + index * stride) % KEYS)
    if (backwards) numbers.reverse()
    for (const number of numbers) {
      if (act === 'set') this.#set(keyOf(number))
      else this.#delete(keyOf(number))
    }
  }

  sorted(): [string, string][] {
    return [...this.plain].sort(([one], [other]) => (one < other ? -1 : 1))
  }

  #set(key: string): void {
    const value = `${key} #${this.#version++}`
    this.map.set(key, value)
    this.plain.set(key, value)
  }

  #delete(key: string): void {
    expect(this.map.delete(key)).toBe(this.plain.delete(key))
  }
}

function twinsAfter(runs: readonly Run[]): Twins {
  const twins = new Twins()
  for (const one of runs) twins.take(one)
  return twins
}

describe('SortedMap, beside a plain sorted array,', () => {
  const runs = fc.array(run, { maxLength: 12 })

  it('has as many entries', () => {
    fc.assert(
      fc.property(runs, (all) => {
        const { map, plain } = twinsAfter(all)
        expect(map.size).toBe(plain.size)
      }),
      { numRuns: 40 },
    )
  })

  it('answers the same range in ascending order', () => {
    fc.assert(
      fc.property(runs, bound, bound, limit, (all, after, upTo, most) => {
        const twins = twinsAfter(all)
        const expected = twins
          .sorted()
          .filter(([key]) => (after === null || key > after) && (upTo === null || key <= upTo))
          .slice(0, most)
          .map(([, value]) => value)
        expect(twins.map.ascending(after, upTo, most)).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  it('answers the same range in descending order', () => {
    fc.assert(
      fc.property(runs, bound, limit, (all, before, most) => {
        const twins = twinsAfter(all)
        const expected = twins
          .sorted()
          .reverse()
          .filter(([key]) => before === null || key < before)
          .slice(0, most)
          .map(([, value]) => value)
        expect(twins.map.descending(before, most)).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  it('answers the same from every key of its own on, page by page', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 50, max: 400 }), (all, page) => {
        const twins = twinsAfter(all)
        const found: string[] = []
        for (let after: string | null = null; ;) {
          const values = twins.map.ascending(after, null, page)
          found.push(...values)
          if (values.length < page) break
          after = values.at(-1)!.slice(0, 5)
        }
        expect(found).toEqual(twins.sorted().map(([, value]) => value))
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

  it('is empty at first, and answers nothing from any bound', () => {
    const map = new SortedMap<number>()
    expect(map.size).toBe(0)
    expect(map.ascending(null, null, 10)).toEqual([])
    expect(map.ascending('a', 'b', 10)).toEqual([])
    expect(map.descending(null, 10)).toEqual([])
    expect(map.descending('a', 10)).toEqual([])
    expect(map.delete('a')).toBe(false)
  })

  it('replaces the value of a key that it has', () => {
    const map = filled(600)
    map.set(keyOf(300), -1)
    expect(map.size).toBe(600)
    expect(map.ascending(keyOf(299), keyOf(300), 10)).toEqual([-1])
  })

  it('is as good as new after everything was deleted', () => {
    const map = filled(2000)
    for (let number = 0; number < 2000; number++) map.delete(keyOf(number))
    expect(map.size).toBe(0)
    expect(map.ascending(null, null, Infinity)).toEqual([])
    expect(map.descending(null, Infinity)).toEqual([])
    map.set(keyOf(5), 5)
    expect(map.descending(null, 10)).toEqual([5])
  })

  it('answers across a stretch that was emptied', () => {
    const map = filled(2000)
    for (let number = 500; number < 1600; number++) map.delete(keyOf(number))
    expect(map.ascending(keyOf(498), null, 3)).toEqual([499, 1600, 1601])
    expect(map.descending(keyOf(1601), 3)).toEqual([1600, 499, 498])
    expect(map.ascending(keyOf(700), null, 1)).toEqual([1600])
    expect(map.descending(keyOf(700), 1)).toEqual([499])
  })

  it('answers a new list each time', () => {
    const map = filled(3)
    map.ascending(null, null, 10).pop()
    map.descending(null, 10).pop()
    expect(map.ascending(null, null, 10)).toEqual([0, 1, 2])
  })
})
