import type { StorageError } from './errors.js'
import type { PlainResponse } from './http/response.js'
import type { Report } from './reporter.js'

/** An operation that is about to run. */
export interface OperationEvent {
  /** Such as `upload.confirm`; the same name that `onError` gets. */
  readonly operation: string
  readonly request: Request
}

/** The outcome of an operation. */
export interface OperationResult {
  /** HTTP status of the response. */
  readonly status: number
  /** The error in the response, or `null`. */
  readonly error: StorageError | null
  /** The caller; `null` if the request was refused before, or needs no scope (signed URLs). */
  readonly scope: string | null
  /** The upload route of the new upload or of the object; `null` if it is unknown, and for lists. */
  readonly route: string | null
}

/**
 * Wraps each operation, for traces and metrics. Call `run` immediately, in the async context that the operation should
 * have. Its promise never rejects. The response neither waits for the observer nor depends on it: if the observer throws or never
 * calls `run`, the operation still runs.
 */
export type OperationObserver = (event: OperationEvent, run: () => Promise<OperationResult>) => unknown

/** Runs `work` once, wrapped by the observer. `work` never rejects. */
export type Observe = (event: OperationEvent, work: () => Promise<ObservedResponse>) => Promise<PlainResponse>

export interface ObservedResponse extends Omit<OperationResult, 'status'> {
  readonly response: PlainResponse
}

export function createObserve(observer: OperationObserver | null | undefined, report: Report): Observe {
  if (!observer) return async (_, work) => (await work()).response
  return async (event, work) => {
    let outcome: Promise<ObservedResponse> | undefined
    const begin = () => (outcome ??= work())
    const run = async (): Promise<OperationResult> => {
      const { response, ...result } = await begin()
      return { status: response.status, ...result }
    }
    // A broken observer must not fail the request.
    const reportFailure = (thrown: unknown) => report(thrown, { ...event, operation: 'onOperation' })
    new Promise((resolve) => resolve(observer(event, run))).catch(reportFailure)
    return (await begin()).response
  }
}
