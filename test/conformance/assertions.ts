import type { ErrorCode, ErrorParams } from '../../src/core/errors.js'
import { observed } from './answer.js'
import { answerDifference, difference } from './difference.js'
import { Notation } from './notation.js'

const PLAIN = new Notation(true)

/** What the suite throws where a store breaks the contract. */
export class ConformanceFailure extends Error {
  override readonly name = 'ConformanceFailure'
}

/** @throws ConformanceFailure unless it holds. */
export function holds(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new ConformanceFailure(otherwise)
}

/** @throws ConformanceFailure unless both are the same, dates and own fields included. */
export function same(actual: unknown, expected: unknown, what = 'the answer'): void {
  const found = difference(expected, actual, PLAIN)
  if (found !== null) throw new ConformanceFailure(`${what}: ${found}`)
}

/** @throws ConformanceFailure unless these fields of an object are the same; it may have others. */
export function sameFields<T extends object>(
  actual: T | null,
  expected: Partial<T>,
  what = 'the answer',
): void {
  holds(actual !== null, `${what}: expected an object, got null`)
  for (const name of Object.keys(expected) as (keyof T & string)[]) {
    same(actual[name], expected[name], `${what}, field ${name}`)
  }
}

/** @throws ConformanceFailure unless the call rejects with this code (and these params, where given). */
export async function refused(
  call: () => Promise<unknown>,
  error: ErrorCode,
  params?: ErrorParams,
): Promise<void> {
  const found = answerDifference(params ? { error, params } : { error }, await observed(call), PLAIN)
  if (found !== null) throw new ConformanceFailure(found)
}

/** @throws ConformanceFailure unless the call rejects with `VALIDATION_ERROR` for one of these fields. */
export async function refusedField(call: () => Promise<unknown>, ...fields: string[]): Promise<void> {
  const found = answerDifference({ error: 'VALIDATION_ERROR', fields }, await observed(call), PLAIN)
  if (found !== null) throw new ConformanceFailure(found)
}
