import fc from 'fast-check'
import type { MethodName } from './calls.js'
import { fieldNamesOf } from './input-checks.js'

/** Names that every object has, and that a table of known names must not take for known. */
const INHERITED = ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', 'isPrototypeOf']

/** Names that callers expect to be filters or targets. */
const EXPECTED = ['owner', 'user', 'scopes', 'keys', 'where', 'filter', 'type', 'surplus', '']

function typosOf(name: string): string[] {
  const end = name.at(-1)!
  return [
    name + end,
    name.slice(0, -1),
    name.slice(1),
    name.slice(0, -2) + end + name.at(-2)!,
    name.toUpperCase(),
    `${name}s`,
    `${name} `,
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
  ]
}

/** Returns names that the call doesn't know: misspelled names of its fields, and names that look familiar. */
export function unknownNamesOf(method: MethodName): readonly string[] {
  const { own, known } = fieldNamesOf(method)
  const names = [...INHERITED, ...EXPECTED, ...own.flatMap(typosOf)]
  return [...new Set(names)].filter((name) => !known.includes(name))
}

const letters = (maxLength: number) =>
  fc
    .array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz'), { minLength: 1, maxLength })
    .map((list) => list.join(''))

/** Names as fields have them. The oldest fast-check that the suite supports can't make them from a pattern. */
const camelCase = fc
  .tuple(letters(8), fc.option(letters(6), { nil: '' }))
  .map(([first, second]) => first + second.slice(0, 1).toUpperCase() + second.slice(1))

/** Any name that the call does not know. */
export function unknownNames(method: MethodName): fc.Arbitrary<string> {
  const { known } = fieldNamesOf(method)
  const anyName = fc.oneof(
    fc.string({ maxLength: 12 }),
    camelCase,
    fc.constantFrom(...unknownNamesOf(method)),
  )
  return anyName.filter((name) => !known.includes(name))
}

/** Returns a copy with one more field. Defines it, because assigning to `__proto__` would set the prototype. */
export function withOwnField(input: object, name: string, value: unknown): object {
  const descriptor = { value, enumerable: true, writable: true, configurable: true }
  return Object.defineProperty({ ...input }, name, descriptor)
}
