import fc from 'fast-check'

const codePoint = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))

/** Strings of any code points, like `unit: 'binary'` of fast-check, whose first use takes almost a second. */
export const anyText = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: codePoint, minLength: 1, maxLength })
