import { StorageError } from '../errors.js'
import type { StorageObject } from '../store/records.js'

/** What a guard is shown of the operation it may deny. */
export interface GuardContext {
  /** The web-standard request; `expressRequest(request)` and its kin give the framework's own. */
  readonly request: Request
  readonly bucket: string
  readonly key: string
  /** `null` where nobody is signed in and the guard may still let it pass. */
  readonly scope?: string | null
  readonly object?: StorageObject
  readonly route?: string | null
  /** Bytes. */
  readonly size?: number | null
}

/** Denies by throwing. What it resolves to is ignored. */
export type Guard<Context extends GuardContext = GuardContext> = (context: Context) => unknown

/**
 * Runs the application's guards in order. A `StorageError` of theirs stands as it is; anything else becomes `FORBIDDEN`
 * without its message, because an exception of an authorisation must not read as a yes, nor tell the client why.
 */
export async function runGuards(
  guards: readonly (Guard | null | undefined)[],
  context: GuardContext,
  report: (error: unknown) => void,
): Promise<void> {
  for (const guard of guards) {
    try {
      await guard?.(context)
    } catch (thrown) {
      const denial = asDenial(thrown)
      if (denial.code === 'FORBIDDEN' && denial.cause !== undefined) report(denial.cause)
      throw denial
    }
  }
}

/** A thrown value as the error that denies: what is no `StorageError` is `FORBIDDEN` because of it. */
export function asDenial(thrown: unknown): StorageError {
  return thrown instanceof StorageError
    ? thrown
    : new StorageError('FORBIDDEN', { cause: thrown ?? 'nothing' })
}
