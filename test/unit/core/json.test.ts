import fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { parseJson } from '../../../src/core/json.js'

it.each(['"', '\n', '\u0001', '\\', '\nab', 'a\n', '\u{1f600}\n', '\\n'])(
  'reads the name %j as it was written',
  (name) => {
    // A name that is the beginning of the escaped one, behind a first name that only this test uses.
    const first = `before ${name}`
    const other = JSON.stringify(name).slice(1, name.length + 1)
    JSON.parse(JSON.stringify({ [first]: [], [other]: 0 }))
    const value = { [first]: 1, [name]: 2, list: [{ [first]: 3, [name]: '":\\' }] }
    expect(parseJson(JSON.stringify(value))).toEqual(value)
  },
)

it('reads escapes in every form, and keeps what is written twice as JSON.parse does', () => {
  expect(parseJson('{"\\u0061":1,"b\\/":2}')).toEqual({ a: 1, 'b/': 2 })
  expect(parseJson('{"a":1,"\\u0061" : 2}')).toEqual({ a: 2 })
  expect(Object.keys(parseJson('{"__proto__":1,"\\u005f_proto__":{"a":2}}') as object)).toEqual(['__proto__'])
})

it('takes no name for a stand-in', () => {
  const random = vi.spyOn(Math, 'random').mockReturnValueOnce(0.5)
  const value = { '\u{e000}0.50': 1, '\n': 2 }
  expect(parseJson(JSON.stringify(value))).toEqual(value)
  expect(random).toHaveBeenCalledTimes(2)
  random.mockRestore()
})

// These would take hours if they were searched again from each of their characters.
it.each(['"' + '\\"'.repeat(2_000_000), '"\\', `{"\\n":"${'\u{e000}'.repeat(2_000_000)}`])(
  'refuses an unfinished text in one pass (%#)',
  (text) => {
    expect(() => parseJson(text)).toThrow(SyntaxError)
  },
)

it.each([
  { '\n': '\u{e000}'.repeat(2_000_000) },
  { '\n': '"'.repeat(2_000_000) },
  { '\n': '\\'.repeat(2_000_000) },
])('reads a long text in one pass (%#)', (value) => {
  expect(JSON.stringify(parseJson(JSON.stringify(value)))).toBe(JSON.stringify(value))
})

it('reads a text that is nested as deeply as JSON.parse reads it', () => {
  const inner = (depth: number) => `${'[{"\\n":'.repeat(depth)}1${'}]'.repeat(depth)}`
  let value = parseJson(inner(30_000))
  let levels = 0
  for (; Array.isArray(value); levels++) value = (value as { '\n': unknown }[])[0]!['\n']
  expect({ value, levels }).toEqual({ value: 1, levels: 30_000 })
})

it('equals what was stringified', () => {
  const name = fc.string({ unit: fc.constantFrom('\\', '"', '\n', 'u', '0', 'a', ':', '\u{e000}', '{') })
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof({ maxDepth: 3 }, name, fc.array(tie('tree')), fc.dictionary(name, tie('tree'))),
  }))
  fc.assert(
    fc.property(tree, (value) => {
      expect(parseJson(JSON.stringify(value))).toEqual(value)
    }),
  )
})

it.each(['{"a\\x":1}', '{"\\n" 1}', '{"\\n":}', '"\\', '{"\\n":1', '{"a":"\\n"', '\\'])(
  'refuses %s as JSON.parse does',
  (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError)
    expect(() => parseJson(text)).toThrow(SyntaxError)
  },
)
