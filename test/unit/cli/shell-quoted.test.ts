import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shellQuoted } from '../../../src/cli/format.js'

it.each([
  ['users/42/a.txt', 'users/42/a.txt'],
  ['a b', "'a b'"],
  ["it's", "'it'\\''s'"],
  ['-x', '-x'],
  ['$HOME`id`', "'$HOME`id`'"],
  ['a\nb', "$'a\\x0ab'"],
  ["\u202e'\\", "$'\\xe2\\x80\\xae\\'\\\\'"],
])('quotes %j', (text, quoted) => {
  expect(shellQuoted(text)).toBe(quoted)
})

it('gives a shell the same texts back', () => {
  // All characters but NUL, without the tables that fast-check fills for those of Unicode.
  const character = fc.oneof(fc.integer({ min: 1, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  const text = fc.array(character, { minLength: 1 }).map((points) => String.fromCodePoint(...points))
  const texts = fc.sample(
    fc.oneof(text, fc.string({ unit: fc.constantFrom("'", '\\', '$', '\n', 'a', ' ') })),
    40,
  )
  const script = `for text in ${texts.map((value) => shellQuoted(value) || "''").join(' ')}; do printf '%s\\0' "$text"; done`
  const printed = execFileSync('bash', ['-c', script]).toString().split('\0')
  expect(printed.slice(0, -1)).toEqual(texts)
})
