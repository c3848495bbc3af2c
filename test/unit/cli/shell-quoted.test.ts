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
  const text = fc.string({ unit: 'binary', minLength: 1 }).filter((value) => !value.includes('\0'))
  const texts = fc.sample(
    fc.oneof(text, fc.string({ unit: fc.constantFrom("'", '\\', '$', '\n', 'a', ' ') })),
    40,
  )
  const script = `for text in ${texts.map((value) => shellQuoted(value) || "''").join(' ')}; do printf '%s\\0' "$text"; done`
  const printed = execFileSync('bash', ['-c', script]).toString().split('\0')
  expect(printed.slice(0, -1)).toEqual(texts)
})
