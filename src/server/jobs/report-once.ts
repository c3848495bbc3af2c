import { causesOf } from '../../core/causes.js'
import { StorageError } from '../../core/errors.js'
import type { ErrorContext, Report } from '../../core/reporter.js'

/** Reports an error of a job, with the bucket of its item, if it has one. */
export type JobReport = (error: unknown, context: ErrorContext, bucket?: string) => void

/** Some errors name the item, so many items that fail for one reason have many messages. */
const MAX_MESSAGES = 10

/**
 * Returns a function that reports the errors of one run: of those with the same code and reason, for the storage also with the same
 * bucket, the first one only. A bucket that is away fails every item, and the messages name the call and the item. So the reason is the
 * innermost cause.
 */
export function reportOnce(report: Report): JobReport {
  const told = new Map<string, Set<string>>()
  return (error, context, bucket = '') => {
    const code = error instanceof StorageError ? error.code : ''
    const kind = code === 'STORAGE_UNAVAILABLE' ? `${code} ${bucket}` : code
    const reasons = told.get(kind) ?? new Set()
    told.set(kind, reasons)
    const reason = reasonOf(error)
    if (reasons.has(reason) || reasons.size === MAX_MESSAGES) return
    reasons.add(reason)
    report(error, context)
  }
}

function reasonOf(error: unknown): string {
  const innermost = [error, ...causesOf(error)].at(-1)
  // A connection that was refused on several addresses has a code, and no message.
  return `${String(innermost)} ${String((innermost as { readonly code?: unknown } | null)?.code)}`
}
