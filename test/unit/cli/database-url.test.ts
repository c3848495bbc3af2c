import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDatabaseURL } from '../../../src/cli/database-url.js'

const read = (text: string) => readDatabaseURL(text, 'The --url')

/** Those that mean something in URLs or in regular expressions, and a few of each other kind. */
const character = fc.constantFrom(...' !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~aZ0\0\né☀𝄞')

describe('what is shown of a URL', () => {
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
  ])('%s', (url, shown) => {
    expect(read(url).shown).toBe(shown)
  })

  it('never has any password that a URL can have', () => {
    fc.assert(
      fc.property(fc.string({ unit: character, minLength: 1 }), (password) => {
        const { shown, conceal } = read(`postgres://u:${encodeURIComponent(password)}@h/d`)
        expect(shown).toBe('postgres://u:***@h/d')
        expect(conceal(password)).toBe('***')
      }),
    )
  })

  it('is not what a driver repeats, in either spelling, from a parameter too', () => {
    const { conceal } = read('postgres://u:p%40ss@h/d?sslpassword=tls%20secret')
    expect(conceal('p%40ss p@ss tls secret')).toBe('*** *** ***')
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
  expect(refusal).toBe('The --url is not a URL such as postgres://user:password@host:5432/database.')
})
