import fc from 'fast-check'
import { expect, it, onTestFinished, vi } from 'vitest'
import { parseQuery } from '../../../../src/core/http/query.js'
import { anyText } from '../any-text.js'

it.each<[search: string, name: string, value: string | null]>([
  ['?key=a%20b+c%2Bd&bucket=photos%26%3D', 'key', 'a b c+d'],
  ['?key=a&bucket=photos%26%3D', 'bucket', 'photos&='],
  ['key=a', 'key', 'a'],
  ['?key=a=b==', 'key', 'a=b=='],
  ['?%6Bey=a', 'key', 'a'],
  ['?empty=&bare&&', 'empty', ''],
  ['?empty=&bare&&', 'bare', ''],
  ['?empty=&bare&&', 'absent', null],
  ['?utm=%ff&utm=1&%ff=a&key=a', 'key', 'a'],
  ['', 'key', null],
  ['?', '', null],
  ...['?Key=a', '?ke%y=a', '?ke%=a', '?ke%7=a', '?%6=a', '?key%=a', '?keya', '?ke&y=a', '?k%2565y=a'].map(
    (search): [string, string, null] => [search, 'key', null],
  ),
])('the query %j has for %s the value %j', (search, name, value) => {
  expect(parseQuery(search).get(name)).toBe(value)
})

it.each(['%', '%ff', '%6Bez', 'ke%ff', '%C3%A9=%zz', 'a=%', '+'])(
  'decodes nothing but the parameters that are read, however many others are like %s',
  (other) => {
    const decode = vi.spyOn(globalThis, 'decodeURIComponent')
    onTestFinished(() => decode.mockRestore())
    const query = parseQuery(`?${`${other}&`.repeat(8000 / (other.length + 1))}key=a%20b`)
    expect(['key', 'status', 'limit'].map((name) => query.get(name))).toEqual(['a b', null, null])
    expect(decode.mock.calls).toEqual([['a%20b']])
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
