import type { ErrorCode, ErrorParams } from '../../src/core/errors.js'

/** What a call ought to come to. */
export type Answer<T = unknown> = { readonly ok: T } | Refusal

export interface Refusal {
  readonly error: ErrorCode
  /** All of the error's `params`, where the contract names them all. */
  readonly params?: ErrorParams
  /** `params.field` is one of these: the fields that are bad. */
  readonly fields?: readonly string[]
}

/** What a call did come to. `crash` is whatever was thrown that is no `StorageError`. */
export type Observed =
  | { readonly ok: unknown }
  | { readonly error: string; readonly params: ErrorParams | undefined; readonly message: string }
  | { readonly crash: unknown }

interface CodedError extends Error {
  readonly code: string
  readonly params?: ErrorParams
}

function isStorageError(thrown: unknown): thrown is CodedError {
  // By its name: the suite may come from another copy of the library than the store, so `instanceof` would tell nothing.
  return thrown instanceof Error && thrown.name === 'StorageError' && 'code' in thrown
}

/** Runs a call and says what it came to; never rejects. */
export async function observed(run: () => Promise<unknown>): Promise<Observed> {
  try {
    return { ok: await run() }
  } catch (thrown) {
    if (!isStorageError(thrown)) return { crash: thrown }
    return { error: thrown.code, params: thrown.params, message: thrown.message }
  }
}

export function ok<T>(value: T): { readonly ok: T } {
  return { ok: value }
}

export function invalid(...fields: string[]): Refusal {
  return { error: 'VALIDATION_ERROR', fields }
}

/** The value of an answer that the suite knows to be one. */
export function valueOf<T>(answer: Answer<T>): T {
  if ('ok' in answer) return answer.ok
  throw new Error(`The suite asked its model something bad: ${answer.error} ${answer.fields?.join() ?? ''}`)
}
