import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkText, utf8Length, type TextField } from '../../../../../src/core/store/validation/text.js'
import { anyText } from '../../any-text.js'
import { refusalOf } from './refusal.js'

const CHARACTERS = {
  scope: 255,
  bucket: 255,
  route: 255,
  contentType: 255,
  eTag: 255,
  filename: 1024,
  uploadId: 1024,
} as const
const BYTES = { key: 1024, storageKey: 1024 } as const

const inCharacters = Object.entries(CHARACTERS) as [TextField, number][]
const inBytes = Object.entries(BYTES) as [TextField, number][]
const fields = [...inCharacters, ...inBytes].map(([field]) => field)

/** One code point, two UTF-16 units, four bytes of UTF-8. */
const CLEF = '\u{1d11e}'

describe.each(inCharacters)('%s', (field, max) => {
  it.each([
    ['ASCII', 'a'],
    ['two bytes each', 'é'],
    ['a surrogate pair each', CLEF],
  ])(`accepts up to ${max} characters of %s`, (_what, character) => {
    const longest = character.repeat(max)
    expect(checkText(field, longest)).toBe(longest)
    const message = refusalOf(field, () => checkText(field, longest + character))
    expect(message).toContain(`a string of 1 to ${max} characters (got a longer one)`)
  })

  it('counts code points of mixed planes', () => {
    const longest = CLEF + 'a'.repeat(max - 1)
    expect(checkText(field, longest)).toBe(longest)
    refusalOf(field, () => checkText(field, longest + CLEF))
    refusalOf(field, () => checkText(field, 'a'.repeat(100_000)))
  })
})

describe.each(inBytes)('%s', (field, max) => {
  it.each([
    ['one byte', 'a'],
    ['two bytes', 'é'],
    ['four bytes', CLEF],
  ])(`accepts up to ${max} bytes in characters of %s`, (_what, character) => {
    const longest = character.repeat(max / utf8Length(character))
    expect(checkText(field, longest)).toBe(longest)
    const message = refusalOf(field, () => checkText(field, `${longest}a`))
    expect(message).toContain(`a string of 1 to ${max} bytes of UTF-8 (got a longer one)`)
  })

  it('refuses a short string with too many bytes', () => {
    refusalOf(field, () => checkText(field, '€'.repeat(max / 2)))
    refusalOf(field, () => checkText(field, 'a'.repeat(100_000)))
  })
})

describe.each(fields)('%s', (field) => {
  it('requires at least one character', () => {
    expect(checkText(field, 'a')).toBe('a')
    expect(refusalOf(field, () => checkText(field, ''))).toMatch(
      /a string of 1 to \d+ .* \(got an empty string\)/,
    )
  })

  it.each([
    ['undefined', undefined],
    ['null', null],
    ['5', 5],
    ['true', true],
    ['a bigint', 5n],
    ['a symbol', Symbol('a')],
    ['a function', () => 'a'],
    ['an array', ['a']],
    ['an object', new String('a')],
  ])('refuses %s', (shown, value) => {
    const message = refusalOf(field, () => checkText(field, value))
    expect(message).toMatch(new RegExp(`must be a string of 1 to .* \\(got ${shown}\\)\\.$`))
  })

  it('refuses NUL', () => {
    for (const value of ['\0', 'a\0', '\0a', 'a\0b']) {
      expect(refusalOf(field, () => checkText(field, value))).toContain('NUL')
    }
  })

  it('refuses unpaired surrogates', () => {
    for (const value of [
      '\ud83d',
      '\ude00',
      'a\ud83d',
      '\ude00\ud83d',
      `${CLEF}\udd1e`,
      '\ud83d\ud83d\ude00',
    ]) {
      expect(refusalOf(field, () => checkText(field, value))).toContain('unpaired surrogate')
    }
  })

  it('is not trimmed, folded or normalized', () => {
    const values = fc.oneof(
      anyText({ minLength: 1, maxLength: 100 }),
      fc.constantFrom(
        ' a ',
        '\t',
        '\n',
        'A',
        'é',
        'e\u0301',
        '\ufeff',
        '\u202e',
        '\uffff',
        '%00',
        '../..',
        '__proto__',
      ),
    )
    fc.assert(
      fc.property(values, (value) => {
        expect(checkText(field, value)).toBe(value)
      }),
    )
  })
})

describe('the length of a text in UTF-8', () => {
  it('is the number of its bytes', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(utf8Length(text)).toBe(Buffer.byteLength(text))
      }),
    )
  })
})
