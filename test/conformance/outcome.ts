import type { ErrorCode, ErrorParams } from '../../src/core/errors.js'

/** What the contract says a call resolves to or rejects with. */
export type Expected<T = unknown> = { readonly ok: T } | Refusal

export interface Refusal {
  readonly error: ErrorCode
  /** All of the error's `params`, if the contract specifies them all. */
  readonly params?: ErrorParams
  /** `params.field` must be one of these. */
  readonly fields?: readonly string[]
}

/** What a call actually resolved to or rejected with. `crash` is a thrown value that is not a `StorageError`. */
export type Observed =
  | { readonly ok: unknown }
  | {
      readonly error: string
      readonly params: ErrorParams | undefined
      readonly message: string
      readonly retryable: boolean | undefined
    }
  | { readonly crash: unknown }

interface CodedError extends Error {
  readonly code: string
  readonly params?: ErrorParams
  readonly retryable?: boolean
}

function isStorageError(thrown: unknown): thrown is CodedError {
  // Not `instanceof`: the suite and the store may use different copies of the library.
  return (thrown as Partial<CodedError> | null | undefined)?.name === 'StorageError'
}

/** Runs a call and returns its outcome; never rejects. */
export async function observed(run: () => Promise<unknown>): Promise<Observed> {
  try {
    return { ok: await run() }
  } catch (thrown) {
    if (!isStorageError(thrown)) return { crash: thrown }
    return { error: thrown.code, params: thrown.params, message: thrown.message, retryable: thrown.retryable }
  }
}

export function ok<T>(value: T): { readonly ok: T } {
  return { ok: value }
}

export function invalid(...fields: string[]): Refusal {
  return { error: 'VALIDATION_ERROR', fields }
}

/** Returns the value of a call to the model that must succeed. */
export function valueOf<T>(expected: Expected<T>): T {
  if ('ok' in expected) return expected.ok
  throw new Error(
    `The suite made an invalid call to its model: ${expected.error} ${expected.fields?.join() ?? ''}`,
  )
}
