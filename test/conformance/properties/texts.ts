import fc from 'fast-check'

/** Strings that databases, languages and escaping rules are known to trip over. */
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

/** Any character but NUL, of every plane alike often; what fast-check has for this takes seconds to set up. */
const character = fc
  .tuple(fc.nat(0x10), fc.nat(0xffff))
  .map(([plane, code]) => plane * 0x10000 + code)
  .map((code) => (code === 0 || (code >= 0xd800 && code <= 0xdfff) ? 0x61 : code))
  .map((code) => String.fromCodePoint(code))

/** Strings of one character or more that are short. */
export const text: fc.Arbitrary<string> = fc.oneof(
  { withCrossShrink: true },
  { weight: 3, arbitrary: fc.constantFrom('a', 'b', 'c') },
  { weight: 3, arbitrary: fc.constantFrom(...AWKWARD) },
  {
    weight: 2,
    arbitrary: fc.array(character, { minLength: 1, maxLength: 8 }).map((characters) => characters.join('')),
  },
)

/** What a careless store might take for the same string. */
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

/** So many different strings; now and then such that look alike. */
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

/** As many characters as a field takes, each of them four bytes long: the most that a database is ever given. */
export function longest(length: number): string {
  // All different, so that no compression makes it short.
  return Array.from({ length }, (_, index) =>
    String.fromCodePoint(0x10000 + ((index * 7919) % 0x10000)),
  ).join('')
}

/** Metadata whose names are also names that objects and databases give a meaning to. */
export const metadata: fc.Arbitrary<Record<string, string>> = fc
  .uniqueArray(fc.tuple(fc.oneof(text, fc.constant('')), fc.oneof(text, fc.constant(''))), {
    maxLength: 4,
    selector: ([name]) => name,
  })
  // fromEntries makes an own property of `__proto__`, as JSON.parse does.
  .map((entries) => Object.fromEntries(entries))
