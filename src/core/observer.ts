import type { StorageError } from './errors.js'
import type { Report } from './reporter.js'

/** An operation that a request has reached. */
export interface OperationEvent {
  /** As `onError` is told it, such as `upload.confirm`. */
  readonly operation: string
  readonly request: Request
}

/** How it was answered. */
export interface OperationResult {
  /** Of HTTP. */
  readonly status: number
  /** What the answer says; `null` where all went well. */
  readonly error: StorageError | null
  /** Who asked; `null` where the request didn't get so far, or needs no scope, such as one for bytes. */
  readonly scope: string | null
  /** The upload route: of the upload that begins, or of the object; `null` where that isn't known, and for lists. */
  readonly route: string | null
}

/**
 * Goes around each operation, for traces and metrics: it calls `run` at once, in whatever context the operation is to
 * have, and may wait for the result, which never rejects. The client's answer doesn't wait for it, and isn't changed by
 * what it throws or leaves out.
 */
export type OperationObserver = (event: OperationEvent, run: () => Promise<OperationResult>) => unknown

/** Answers under the eyes of an observer. `work` never rejects, and is begun once. */
export type Observe = (event: OperationEvent, work: () => Promise<ObservedAnswer>) => Promise<Response>

export interface ObservedAnswer extends Omit<OperationResult, 'status'> {
  readonly response: Response
}

export function createObserve(observer: OperationObserver | null | undefined, report: Report): Observe {
  if (!observer) return async (_, work) => (await work()).response
  return async (event, work) => {
    let answer: Promise<ObservedAnswer> | undefined
    const begin = () => (answer ??= work())
    const run = async (): Promise<OperationResult> => {
      const { response, ...result } = await begin()
      return { status: response.status, ...result }
    }
    // A broken observer is the application's to know of, and no reason to refuse anybody.
    const tell = (thrown: unknown) => report(thrown, { ...event, operation: 'onOperation' })
    new Promise((resolve) => resolve(observer(event, run))).catch(tell)
    return (await begin()).response
  }
}
