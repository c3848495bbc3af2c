import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { END_OF_ORDER, utf8Order } from '../../../src/core/utf8-order.js'

/** Texts of characters around the borders where the orders of UTF-16 and UTF-8 differ. */
const BORDERS = [
  '\u0001',
  'a',
  '\u007f',
  '\u0080',
  '\u07ff',
  '\u0800',
  '\ud7ff',
  '\ue000',
  '\uffff',
  '\u{10000}',
  '\u{10ffff}',
]
const text = fc.oneof(
  fc.array(fc.constantFrom(...BORDERS), { maxLength: 4 }).map((characters) => characters.join('')),
  fc.string({ unit: 'binary', maxLength: 6 }),
)

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0)

describe('the sort key of a text', () => {
  it('compares as the bytes of UTF-8', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        const expected = Buffer.compare(Buffer.from(one), Buffer.from(other))
        expect(compare(utf8Order(one), utf8Order(other))).toBe(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('compares as the bytes of UTF-8 for each pair of borders', () => {
    const sorted = [...BORDERS].sort((one, other) => compare(utf8Order(one), utf8Order(other)))
    expect(sorted).toEqual(BORDERS)
  })

  it('starts with that of each prefix, and is less than the end of the prefix', () => {
    fc.assert(
      fc.property(text, text, (prefix, rest) => {
        const whole = utf8Order(prefix + rest)
        expect(whole.startsWith(utf8Order(prefix))).toBe(true)
        expect(whole < utf8Order(prefix) + END_OF_ORDER).toBe(true)
      }),
    )
  })
})
