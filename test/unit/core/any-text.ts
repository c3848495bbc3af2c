import fc from 'fast-check'

const codePoint = fc
  .oneof(fc.integer({ min: 1, max: 0x7f }), fc.integer({ min: 1, max: 0x10ffff }))
  .filter((code) => code < 0xd800 || code > 0xdfff)

/** Well-formed strings without NUL, from all planes: what every database can store. */
export function anyText(length: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.array(codePoint, length).map((codes) => String.fromCodePoint(...codes))
}
