import fc from 'fast-check'

/** Strings that databases, query languages and escaping rules often mishandle. */
export const AWKWARD = [
  '$set',
  'a.b',
  '__proto__',
  'constructor',
  "it's",
  '"',
  '\\',
  '%',
  '_',
  '$1',
  '${x}',
  '*',
  '{}',
  'null',
  '0',
  ' ',
  '\t',
  '\r\n',
  '\u0001',
  '\u007f',
  '\u00a0',
  '\ufeff',
  '\u2028',
  '\u200b',
  '\ufffd',
  '\uffff',
  '\ufdd0',
  'ß',
  'İ',
  'ı',
  '\u00e9', // é as one character
  'e\u0301', // é as two
  '\u212b', // Ångström, which normalisation turns into Å
  'ﬀ',
  '漢字',
  '\ud83d\ude00',
  '\u{1f468}\u200d\u{1f469}',
  '\u{e0001}',
  '\u{10fffd}',
  '-- ',
  ';',
  '?',
  ':name',
  '%00',
  '../..',
  '/',
  '//',
]

/** Any character but NUL, evenly from all planes. fast-check's own arbitrary takes seconds to set up. */
const character = fc
  .tuple(fc.nat(0x10), fc.nat(0xffff))
  .map(([plane, code]) => plane * 0x10000 + code)
  .map((code) => (code === 0 || (code >= 0xd800 && code <= 0xdfff) ? 0x61 : code))
  .map((code) => String.fromCodePoint(code))

/** Short strings of at least one character. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { withCrossShrink: true },
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 3, arbitrary: fc.constantFrom(...AWKWARD) },
  {
    weight: 2,
    arbitrary: fc.array(character, { minLength: 1, maxLength: 8 }).map((characters) => characters.join('')),
  },
)

/** Strings that a store might confuse with the given one. */
function lookAlikesOf(value: string): string[] {
  return [
    value,
    `${value} `,
    ` ${value}`,
    value.toUpperCase(),
    value.normalize('NFD'),
    value.normalize('NFKC'),
    `${value}%`,
    `${value}_`,
    `${value}/${value}`,
    `${value}\n`,
    `${value}a`,
  ]
}

/** This many different strings, sometimes similar ones. */
export function texts(count: number): fc.Arbitrary<string[]> {
  return fc.oneof(
    { withCrossShrink: true },
    fc.constant(['a', 'b', 'c', 'd'].slice(0, count)),
    fc.uniqueArray(text, { minLength: count, maxLength: count }),
    text.chain((base) =>
      fc.shuffledSubarray([...new Set([...lookAlikesOf(base), 'a', 'b', 'c'])], {
        minLength: count,
        maxLength: count,
      }),
    ),
  )
}

/** The largest value of a field: this many characters of four bytes each. */
export function longest(length: number): string {
  // All different, because a database may compress repeats.
  return Array.from({ length }, (_, index) =>
    String.fromCodePoint(0x10000 + ((index * 7919) % 0x10000)),
  ).join('')
}

/** Metadata, with names that have a meaning in JavaScript or in databases. */
export const metadata: fc.Arbitrary<Record<string, string>> = fc
  .uniqueArray(fc.tuple(fc.oneof(text, fc.constant('')), fc.oneof(text, fc.constant(''))), {
    maxLength: 4,
    selector: ([name]) => name,
  })
  // Like JSON.parse, fromEntries makes `__proto__` an own property.
  .map((entries) => Object.fromEntries(entries))
