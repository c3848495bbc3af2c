import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDatabaseURL } from '../../../src/cli/databases/database-url.js'

const read = (text: string) => readDatabaseURL(text, '--url')

/** Characters with a meaning in URLs or regular expressions, and some others. */
const character = fc.constantFrom(...' !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~aZ0\0\né☀𝄞')

describe('readDatabaseURL', () => {
  it.each([
    [
      'postgres://app:secret@db.example:5432/files?sslmode=require',
      'postgres://app:***@db.example:5432/files',
    ],
    ['postgres://app@db.example/files', 'postgres://app@db.example/files'],
    ['POSTGRES://db.example', 'postgres://db.example'],
    ['postgres:///files?password=secret', 'postgres:///files'],
    ['mongodb://app:secret@a:1,b:2/files?replicaSet=r', 'mongodb://app:***@a:1,b:2/files'],
    ['postgres://:secret@h/d', 'postgres://:***@h/d'],
  ])('shows %s as %s', (url, shown) => {
    expect(read(url).shown).toBe(shown)
  })

  // Shorter ones are parts of words, whose gaps would tell them.
  it('never shows a password of three letters or more', () => {
    fc.assert(
      fc.property(fc.string({ unit: character, minLength: 3 }), (password) => {
        const { shown, redact } = read(`postgres://u:${encodeURIComponent(password)}@h/d`)
        expect(shown).toBe('postgres://u:***@h/d')
        expect(redact(password)).toBe('***')
      }),
    )
  })

  it('redacts secrets in driver messages, encoded or decoded, including those in parameters', () => {
    const { redact } = read('postgres://u:p%40ss@h/d?sslpassword=tls%20secret')
    expect(redact('p%40ss p@ss tls secret')).toBe('*** *** ***')
  })
})

it.each([
  '',
  'h/d',
  'postgres:/h/d',
  'postgres://u:a@b@h/d',
  'postgres://u:1/2@h/d',
  'postgres://u:1#2@h/d',
  'postgres://u:1?2@h/d',
])('refuses %j without repeating it', (text) => {
  const refusal = (() => {
    try {
      return read(text)
    } catch (error) {
      return (error as Error).message
    }
  })()
  expect(refusal).toBe('--url must be a URL such as postgres://user:password@host:5432/database.')
})
