import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareBytes, endOfPrefix } from '../../../../src/adapters/mongo/documents/text-order.js'

const LAST = '\u{10ffff}'
const wellFormed = fc.string({
  unit: fc.constantFrom('a', 'b', 'é', '\ud7ff', '\ue000', '\uffff', '\u{10000}', '\u{10fffe}', LAST),
  maxLength: 4,
})
const bytes = (text: string) => Buffer.from(text)

describe('the order of UTF-8 bytes', () => {
  it('compares as the bytes do', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (a, b) => {
        expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(bytes(a), bytes(b)))
      }),
    )
  })

  it('ends a prefix above all texts that start with it, and not above others', () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (prefix, text) => {
        const end = endOfPrefix(prefix)
        const isWithin = compareBytes(text, prefix) >= 0 && (end === null || compareBytes(text, end) < 0)
        expect(isWithin).toBe(text.startsWith(prefix))
      }),
    )
  })

  it.each([
    ['a', 'b'],
    ['a\ud7ff', 'a\ue000'],
    ['\uffff', '\u{10000}'],
    [`a${LAST}${LAST}`, 'b'],
    [LAST, null],
    ['', null],
  ])('ends the prefix %j at %j', (prefix, end) => {
    expect(endOfPrefix(prefix)).toBe(end)
  })
})
