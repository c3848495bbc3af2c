import { StorageError } from '../errors.js'
import type { StorageObject } from '../store/records.js'

/** What a guard knows about the operation. */
export interface GuardContext {
  /** The web-standard request. `expressRequest(request)` and `koaContext(request)` return the framework's own. */
  readonly request: Request
  readonly bucket: string
  readonly key: string
  /** `null` if the caller is not signed in and the guard may still allow the operation. */
  readonly scope?: string | null
  readonly object?: StorageObject
  readonly route?: string | null
  /** Bytes. */
  readonly size?: number | null
}

/** Denies an operation by throwing. Its result is ignored. */
export type Guard<Context extends GuardContext = GuardContext> = (context: Context) => unknown

/** Marks the denial that hides an unexpected error. A registered symbol, which the ESM and the CommonJS build share. */
const UNEXPECTED = Symbol.for('@svc/db/unexpected-denial')

/**
 * Runs the application's guards in order. A thrown `StorageError` is passed on. Anything else becomes `FORBIDDEN` without
 * its message: a failing authorization check must deny, and must not reveal why. Only then is the error reported.
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
      if (UNEXPECTED in denial) report(denial.cause)
      throw denial
    }
  }
}

/** Returns a thrown value as the error that denies: a `StorageError` as it is, anything else as the cause of `FORBIDDEN`. */
export function asDenial(thrown: unknown): StorageError {
  if (thrown instanceof StorageError) return thrown
  const denial = new StorageError('FORBIDDEN', { cause: thrown ?? 'nothing' })
  return Object.defineProperty(denial, UNEXPECTED, { value: true })
}

/** A guard or hook. Its result is ignored. */
type Hook<Context> = (context: Context) => unknown

/** Combines hooks or guards into one. They run in order, each awaited; `null` and `undefined` are skipped; the first throw stops the chain. */
export function chainHooks<Context>(
  ...hooks: readonly (Hook<Context> | null | undefined)[]
): (context: Context) => Promise<void> {
  return async (context) => {
    for (const hook of hooks) await hook?.(context)
  }
}
