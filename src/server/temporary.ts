import type { RecordKeeper } from '../core/plugin.js'
import type { ErrorContext } from '../core/reporter.js'
import { MAX_OBJECTS, TEMPORARY_GRACE_SECONDS } from '../core/store/inputs/temporary.js'
import type { StorageObject } from '../core/store/records.js'
import { SETTLED_AT_ONCE } from './attempts/settle.js'
import type { ServerDependencies } from './dependencies.js'
import { removeBytes } from './objects.js'
import { secondsAfter } from './url-terms.js'
import { workThrough } from './work-through.js'

/** The most objects of one {@link endTemporary}. */
export const ENDED_AT_ONCE = MAX_OBJECTS

/** Returns the latest end that is over for long enough to remove its object. */
export function endedBy(now: Date): Date {
  return secondsAfter(now, -TEMPORARY_GRACE_SECONDS)
}

export function hasEnded({ temporaryUntil }: StorageObject, now: Date): boolean {
  return temporaryUntil !== null && temporaryUntil <= endedBy(now)
}

/** What removes objects past their end. */
export type EndingContext = Pick<ServerDependencies, 'storage' | 'report' | 'now' | 'uploadSeconds'> & {
  readonly records: Pick<RecordKeeper, 'endTemporary'>
}

/**
 * Removes objects past their end that the application doesn't use, first the rows, then their bytes. Reports what the application throws,
 * and bytes that can't be removed, which `cleanUp` tries again. Returns the rows that were removed.
 */
export async function endTemporary(
  context: EndingContext,
  rows: readonly StorageObject[],
  errors: ErrorContext,
  concurrency = SETTLED_AT_ONCE,
): Promise<readonly StorageObject[]> {
  const { records, report } = context
  if (rows.length === 0 || !records.endTemporary) return []
  const removed = await records.endTemporary(rows, (error) => report(error, { operation: 'isUsed' }))
  await workThrough([removed], concurrency, async (row) => {
    await removeBytes(context, row, errors)
    return true
  })
  return removed
}
