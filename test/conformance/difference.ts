import type { Answer, Observed } from './answer.js'
import { Notation } from './notation.js'

/**
 * Where two values differ, in words, or `null` where they don't. Dates are the same to the millisecond, objects have the
 * very same own fields (one that is `undefined` is not the same as one that is absent), in any order.
 */
export function difference(
  expected: unknown,
  actual: unknown,
  notation = new Notation(),
  path = '',
): string | null {
  if (expected === actual || (Number.isNaN(expected) && Number.isNaN(actual))) return null
  // Written down only where it is needed: nearly all comparisons find nothing.
  const differs = () =>
    `${path === '' ? '' : `${path}: `}expected ${notation.value(expected)}, got ${notation.value(actual)}`
  if (expected instanceof Date || actual instanceof Date) {
    const same = expected instanceof Date && actual instanceof Date && expected.getTime() === actual.getTime()
    return same ? null : differs()
  }
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual))
    return differs()
  if (Array.isArray(expected) && expected.length !== (actual as unknown as unknown[]).length) return differs()
  for (const name of Object.keys(expected)) {
    const at = Array.isArray(expected) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(actual, name))
      return `${at}: expected ${notation.value(expected[name])}, got no such field`
    const found = difference(expected[name], actual[name], notation, at)
    if (found !== null) return found
  }
  const surplus = Object.keys(actual).find((name) => !Object.hasOwn(expected, name))
  if (surplus === undefined) return null
  return `${path === '' ? '' : `${path}: `}got a field "${surplus}" (${notation.value(actual[surplus])}) that should not be there`
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** How what a call came to differs from what it ought to, or `null`. */
export function answerDifference(
  expected: Answer,
  actual: Observed,
  notation = new Notation(),
): string | null {
  const got = () => `got ${notation.answer(actual)}`
  if ('ok' in expected) {
    if (!('ok' in actual)) return `expected ${notation.answer(expected)}, ${got()}`
    return difference(withoutCursor(expected.ok), withoutCursor(actual.ok), notation)
  }
  if (!('error' in actual) || actual.error !== expected.error) return `expected ${expected.error}, ${got()}`
  if (expected.params) return difference(expected.params, actual.params, notation, 'params')
  const field = actual.params?.['field']
  if (expected.fields && !expected.fields.includes(String(field))) {
    return `expected ${expected.error} with params.field "${expected.fields.join('" or "')}", ${got()}`
  }
  return null
}

/** A page with a mark in place of its cursor, whose text is the store's own business. */
function withoutCursor(value: unknown): unknown {
  if (!isObject(value) || !('nextCursor' in value)) return value
  return { ...value, nextCursor: typeof value['nextCursor'] === 'string' ? 'a cursor' : value['nextCursor'] }
}
