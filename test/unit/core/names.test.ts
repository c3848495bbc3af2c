import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareBytes, endOfPrefix, keyId, referenceOf, utf8Order } from '../../../src/core/names.js'
import { anyText } from './any-text.js'

const LAST = '\u{10ffff}'
/** Characters around the borders where the orders of UTF-16 and UTF-8 differ, in the order of UTF-8. */
const BORDERS = [...'\u0001a\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}', LAST]
const text = fc.oneof(
  fc.array(fc.constantFrom(...BORDERS), { maxLength: 4 }).map((characters) => characters.join('')),
  anyText({ maxLength: 6 }),
)

const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other))

describe('the order of names', () => {
  it('is that of the bytes of UTF-8', () => {
    fc.assert(
      fc.property(text, text, (one, other) => {
        const expected = byBytes(one, other)
        expect(Math.sign(compareBytes(one, other))).toBe(expected)
        const [first, second] = [utf8Order(one), utf8Order(other)]
        expect(first < second ? -1 : Number(first > second)).toBe(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('is that of the bytes of UTF-8 for each pair of borders', () => {
    expect([...BORDERS].sort(compareBytes)).toEqual(BORDERS)
  })

  it('has sort keys that start with those of each prefix', () => {
    fc.assert(
      fc.property(text, text, (prefix, rest) => {
        expect(utf8Order(prefix + rest).startsWith(utf8Order(prefix))).toBe(true)
      }),
    )
  })
})

describe('the end of a prefix', () => {
  const longest = LAST.repeat(256)
  const name = fc.oneof(
    text,
    fc.constantFrom(longest, `${longest.slice(2)}\u{10fffe}`, `a${longest.slice(2)}aaa`, 'a\uffff', 'b'),
  )

  it('ends the range of exactly the names that start with it', () => {
    fc.assert(
      fc.property(name, fc.nat(4), text, (whole, length, other) => {
        for (const prefix of [[...whole].slice(0, length).join(''), other]) {
          const isWithin = byBytes(prefix, whole) <= 0 && byBytes(whole, endOfPrefix(prefix)) < 0
          expect(isWithin).toBe(whole.startsWith(prefix))
        }
      }),
      { numRuns: 1000 },
    )
  })
})

it('the id of a key tells its bucket and the key', () => {
  const reference = fc.record({ bucket: anyText({ minLength: 1 }), key: anyText({ minLength: 1 }) })
  fc.assert(
    fc.property(reference, (given) => {
      expect(referenceOf(keyId(given))).toEqual(given)
    }),
  )
})
