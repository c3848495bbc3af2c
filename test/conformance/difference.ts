import type { ErrorParams } from '../../src/core/errors.js'
import { NoResponse } from './failure.js'
import { Notation } from './notation.js'
import type { Expected, Observed } from './outcome.js'
import { isDate } from './is-date.js'

/**
 * Describes the first difference between two values, or returns `null`. Dates compare by millisecond. Objects must have
 * the same own fields in any order; an `undefined` field differs from an absent one.
 */
export function difference(
  expected: unknown,
  actual: unknown,
  notation = new Notation(),
  path = '',
): string | null {
  if (expected === actual || (Number.isNaN(expected) && Number.isNaN(actual))) return null
  // Formatted only when needed, because most comparisons find no difference.
  const at = path === '' ? '' : `${path}: `
  const differs = () => `${at}expected ${shown(expected, notation)}, got ${shown(actual, notation)}`
  if (isDate(expected) || isDate(actual)) {
    const same = isDate(expected) && isDate(actual) && expected.getTime() === actual.getTime()
    return same ? null : differs()
  }
  if (!isObject(expected) || !isObject(actual) || Array.isArray(expected) !== Array.isArray(actual))
    return differs()
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length !== actual.length) {
    const isShort = Math.max(expected.length, actual.length) <= SHORT_LIST
    return isShort ? differs() : at + lengthDifference(expected, actual, notation)
  }
  for (const name of Object.keys(expected)) {
    const inner = Array.isArray(expected) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(actual, name))
      return `${inner}: expected ${shown(expected[name], notation)}, but the field is missing`
    const found = difference(expected[name], actual[name], notation, inner)
    if (found !== null) return found
  }
  const surplus = Object.keys(actual).find((name) => !Object.hasOwn(expected, name))
  if (surplus === undefined) return null
  return `${at}got an unexpected field "${surplus}" (${shown(actual[surplus], notation)})`
}

/** Describes the first item that differs between lists of different lengths. */
function lengthDifference(
  expected: readonly unknown[],
  actual: readonly unknown[],
  notation: Notation,
): string {
  const common = Math.min(expected.length, actual.length)
  let index = 0
  while (index < common && difference(expected[index], actual[index], notation) === null) index++
  const first =
    index < common
      ? difference(expected[index], actual[index], notation, `[${index}]`)!
      : expected.length > common
        ? `[${index}] is missing (${shown(expected[index], notation)})`
        : `[${index}] is unexpected (${shown(actual[index], notation)})`
  return `expected ${expected.length} items, got ${actual.length}: ${first}`
}

/** Lists up to this length are shown as a whole. */
const SHORT_LIST = 3
const LONGEST_VALUE = 800

function shown(value: unknown, notation: Notation): string {
  const text = notation.value(value)
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}… (${text.length} characters)` : text
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** Describes how the outcome of a call differs from the contract, or returns `null`. */
export function outcomeDifference(
  expected: Expected,
  actual: Observed,
  notation = new Notation(),
): string | null {
  if ('crash' in actual && actual.crash instanceof NoResponse) return actual.crash.message
  const got = () => `got ${notation.outcome(actual)}`
  if ('ok' in expected) {
    if (!('ok' in actual)) return `expected ${notation.outcome(expected)}, ${got()}`
    return difference(withoutCursor(expected.ok), withoutCursor(actual.ok), notation)
  }
  if (!('error' in actual) || actual.error !== expected.error) return `expected ${expected.error}, ${got()}`
  if (expected.params)
    return difference(expected.params, known(actual.params, expected.params), notation, 'params')
  const field = actual.params?.['field']
  if (expected.fields && !expected.fields.includes(String(field))) {
    return `expected ${expected.error} with params.field "${expected.fields.join('" or "')}", ${got()}`
  }
  return null
}

/** Returns the expected params only: an error may have more. */
function known(params: ErrorParams | undefined, expected: ErrorParams): Record<string, unknown> {
  return Object.fromEntries(Object.entries(params ?? {}).filter(([name]) => Object.hasOwn(expected, name)))
}

/** Replaces the cursor of a page by a placeholder, because each store chooses its own cursors. */
function withoutCursor(value: unknown): unknown {
  if (!isObject(value) || !('nextCursor' in value)) return value
  return { ...value, nextCursor: typeof value['nextCursor'] === 'string' ? 'a cursor' : value['nextCursor'] }
}
