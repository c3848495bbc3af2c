import type { ErrorCode, ErrorParams } from '../../src/core/errors.js'
import { difference, outcomeDifference } from './difference.js'
import { ConformanceFailure } from './failure.js'
import { Notation } from './notation.js'
import { observed } from './outcome.js'

/** Ids are numbered anew in each failure. */
const plain = () => new Notation(true)

/** @throws ConformanceFailure if the condition is false. */
export function holds(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new ConformanceFailure(otherwise)
}

/** @throws ConformanceFailure if the values differ in any own field or date. */
export function same(actual: unknown, expected: unknown, what = 'the result'): void {
  const found = difference(expected, actual, plain())
  if (found !== null) throw new ConformanceFailure(`${what}: ${found}`)
}

/** @throws ConformanceFailure if any of the given fields differs; other fields are ignored. */
export function sameFields<T extends object>(
  actual: T | null,
  expected: Partial<T>,
  what = 'the result',
): void {
  holds(actual !== null, `${what}: expected an object, got null`)
  for (const name of Object.keys(expected) as (keyof T & string)[]) {
    same(actual[name], expected[name], `${what}, field ${name}`)
  }
}

/** @throws ConformanceFailure unless the call rejects with this code, and with these params if given. */
export async function refused(
  call: () => Promise<unknown>,
  error: ErrorCode,
  params?: ErrorParams,
): Promise<void> {
  const found = outcomeDifference(params ? { error, params } : { error }, await observed(call), plain())
  if (found !== null) throw new ConformanceFailure(found)
}

/** @throws ConformanceFailure unless the call rejects with `VALIDATION_ERROR` for one of these fields. */
export async function refusedField(call: () => Promise<unknown>, ...fields: string[]): Promise<void> {
  const found = outcomeDifference({ error: 'VALIDATION_ERROR', fields }, await observed(call), plain())
  if (found !== null) throw new ConformanceFailure(found)
}
