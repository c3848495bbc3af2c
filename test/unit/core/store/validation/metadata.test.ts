import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkMetadata } from '../../../../../src/core/store/validation/metadata.js'
import { shown } from '../../../../../src/core/store/validation/invalid.js'
import { anyText } from '../../any-text.js'
import { refusalOf } from './refusal.js'

const KIB = 1024
const refusal = (value: unknown) => refusalOf('metadata', () => checkMetadata(value))
const entries = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name ${index}`, '']))

describe('metadata', () => {
  it('is returned unchanged, including names with a special meaning elsewhere', () => {
    const given = { $set: 'a', 'a.b': 'b', '': 'empty', constructor: 'c', toString: 'd', value: '' }
    expect(checkMetadata(given)).toEqual(given)
    expect(checkMetadata({})).toEqual({})
  })

  it('is returned unchanged for any valid strings', () => {
    const storable = anyText({ maxLength: 20 })
    fc.assert(
      fc.property(fc.dictionary(storable, storable, { maxKeys: 20 }), (given) => {
        expect(Object.entries(checkMetadata(given))).toEqual(Object.entries(given))
      }),
    )
  })

  it('treats __proto__ as an ordinary name', () => {
    const copy = checkMetadata(JSON.parse('{"__proto__":"text","other":"b"}'))
    expect(Object.entries(copy)).toEqual([
      ['__proto__', 'text'],
      ['other', 'b'],
    ])
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['other']).toBeUndefined()
  })

  it('accepts an object without a prototype', () => {
    const given = Object.assign(Object.create(null) as object, { a: 'b' })
    expect(checkMetadata(given)).toEqual({ a: 'b' })
  })

  it('is a copy', () => {
    const given = { a: 'b' }
    const copy = checkMetadata(given)
    given.a = 'changed'
    expect(copy).toEqual({ a: 'b' })
  })

  it('has at most 64 entries', () => {
    expect(Object.keys(checkMetadata(entries(64)))).toHaveLength(64)
    expect(refusal(entries(65))).toContain('at most 64 entries (got 65)')
  })

  it('has at most 16 KiB of UTF-8, names and values together', () => {
    const longest = [{ a: 'b'.repeat(16 * KIB - 1) }, { ['é'.repeat(4 * KIB)]: 'é'.repeat(4 * KIB) }]
    for (const given of longest) {
      expect(checkMetadata(given)).toEqual(given)
      expect(refusal({ ...given, c: '' })).toContain(`at most ${16 * KIB} bytes of UTF-8`)
      expect(refusal({ ...given, '': 'c' })).toContain(`(got ${16 * KIB + 1})`)
    }
  })

  it('accepts only string values, and names the invalid entry', () => {
    for (const value of [null, undefined, 5, true, {}, ['a']]) {
      expect(refusal({ good: 'a', bad: value })).toContain(
        `must have strings as values (got ${shown(value)} for "bad")`,
      )
    }
  })

  it.each([
    ['a NUL in a value', { a: 'b\0' }, 'NUL'],
    ['a NUL in a name', { 'a\0': 'b' }, 'NUL'],
    ['an unpaired surrogate in a value', { a: '\ud83d' }, 'unpaired surrogate'],
    ['an unpaired surrogate in a name', { '\ude00': 'b' }, 'unpaired surrogate'],
  ])('is refused with %s, and the message names the entry', (_what, value, flaw) => {
    expect(refusal(value)).toContain(flaw)
    expect(refusal(value)).toContain(`(entry ${shown(Object.keys(value)[0])})`)
  })

  it.each([null, undefined, 'a', 5, ['a'], new Map([['a', 'b']]), new Date(0), () => 'a'])(
    'refuses %o',
    (value) => {
      expect(refusal(value)).toContain(`must be an object of strings (got ${shown(value)})`)
    },
  )
})
