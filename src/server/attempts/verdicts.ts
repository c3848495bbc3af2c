import type { RecordKeeper } from '../../core/plugin.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { RejectInput } from '../../core/store/contract.js'
import type { StorageObject } from '../../core/store/records.js'
import type { ServerDependencies } from '../dependencies.js'
import { removeBytes } from '../objects.js'

/** What a rejection needs of a server or a job. */
export interface VerdictContext extends Pick<
  ServerDependencies,
  'storage' | 'report' | 'uploadSeconds' | 'now'
> {
  readonly records: Pick<RecordKeeper, 'reject'>
}

/** Rejects an arrived attempt: first the row, then its bytes. `cleanUp` removes what is still written, or could not be removed. */
export async function rejectArrived(
  context: VerdictContext,
  input: RejectInput,
  errorContext: ErrorContext,
): Promise<StorageObject> {
  const rejected = await context.records.reject(input)
  await removeBytes(context, rejected, errorContext)
  return rejected
}
