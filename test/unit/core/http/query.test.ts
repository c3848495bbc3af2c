import fc from 'fast-check'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { parseQuery } from '../../../../src/core/http/query.js'
import { anyText } from '../any-text.js'

const refusal = (name: string) =>
  expect.objectContaining({ code: 'VALIDATION_ERROR', params: { field: name } }) as unknown

describe('a query', () => {
  it('returns the decoded value of a parameter', () => {
    const query = parseQuery('?key=a%20b+c%2Bd&bucket=photos%26%3D')
    expect(query.get('key')).toBe('a b c+d')
    expect(query.get('bucket')).toBe('photos&=')
  })

  it('works without a question mark', () => {
    expect(parseQuery('key=a').get('key')).toBe('a')
  })

  it('distinguishes absent and empty parameters', () => {
    const query = parseQuery('?empty=&bare&&')
    expect(query.get('absent')).toBeNull()
    expect(query.get('empty')).toBe('')
    expect(query.get('bare')).toBe('')
    expect(parseQuery('').get('absent')).toBeNull()
    expect(parseQuery('?').get('')).toBeNull()
  })

  it('keeps every = after the first one', () => {
    expect(parseQuery('?key=a=b==').get('key')).toBe('a=b==')
  })

  it('matches parameters by decoded name', () => {
    expect(parseQuery('?%6Bey=a').get('key')).toBe('a')
  })

  it('matches names by case', () => {
    expect(parseQuery('?Key=a').get('key')).toBeNull()
  })

  it('refuses a repeated parameter, even if the values are equal or empty', () => {
    for (const search of ['?key=a&key=a', '?key=&key=a', '?key&key', '?key=a&%6Bey=b']) {
      expect(() => parseQuery(search).get('key')).toThrow(refusal('key'))
    }
  })

  it('refuses a value with invalid percent-encoding or UTF-8', () => {
    for (const value of ['%', '%a', '%zz', 'a%', '%ff', '%c3', '%ed%a0%80', '%c0%80']) {
      expect(() => parseQuery(`?key=${value}`).get('key')).toThrow(refusal('key'))
    }
  })

  it('ignores other parameters', () => {
    const query = parseQuery('?utm=%ff&utm=1&%ff=a&key=a')
    expect(query.get('key')).toBe('a')
  })

  it('has at most 8192 bytes', () => {
    const longest = `?key=${'a'.repeat(8188)}`
    expect(parseQuery(longest).get('key')).toHaveLength(8188)
    expect(() => parseQuery(longest).checkLength()).not.toThrow()
    for (const read of [
      () => parseQuery(`${longest}a`).get('other'),
      () => parseQuery(`${longest}a`).checkLength(),
    ]) {
      expect(read).toThrow(refusal('query'))
    }
  })

  it.each(['%', '%ff', '%6Bez', 'ke%ff', '%C3%A9=%zz', 'a=%', '+'])(
    'decodes nothing but the parameters that are read, however many others are like %s',
    (other) => {
      const decode = vi.spyOn(globalThis, 'decodeURIComponent')
      onTestFinished(() => decode.mockRestore())
      const others = `${other}&`.repeat(8000 / (other.length + 1))
      const query = parseQuery(`?${others}key=a%20b`)
      expect(['key', 'status', 'limit', 'route'].map((name) => query.get(name))).toEqual([
        'a b',
        null,
        null,
        null,
      ])
      expect(decode.mock.calls).toEqual([['a%20b']])
    },
  )

  it.each(['?ke%y=a', '?ke%=a', '?ke%7=a', '?%6=a', '?key%=a', '?keya', '?ke&y=a', '?k%2565y=a', '?ke%797'])(
    'has no parameter key in %s',
    (search) => {
      expect(parseQuery(search).get('key')).toBeNull()
    },
  )

  it('decodes any well-formed string', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        expect(parseQuery(`?a=1&key=${encodeURIComponent(text)}`).get('key')).toBe(text)
        expect(parseQuery(new URLSearchParams({ key: text }).toString()).get('key')).toBe(text)
      }),
    )
  })
})
