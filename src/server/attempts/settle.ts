import { StorageError } from '../../core/errors.js'
import type { RecordKeeper } from '../../core/plugin.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { matchesRequest } from './confirm.js'
import type { ServerDependencies } from '../dependencies.js'
import { abortMultipartUpload, removeBytes } from '../objects.js'
import { bytesOf } from '../storage.js'

/** The result for an expired reservation. `gone`: another call has confirmed or released it in the meantime. */
export type SettledReservation = 'confirmed' | 'released' | 'gone'

/** Ends an expired reservation: confirms a finished upload, and otherwise releases it. Changes nothing if the storage fails. */
export async function settleReservation(
  {
    storage,
    records,
  }: Pick<ServerDependencies, 'storage'> & { readonly records: Pick<RecordKeeper, 'objects' | 'confirm'> },
  row: StorageObject,
  unconfirmed: 'confirm' | 'discard',
  signal?: AbortSignal,
): Promise<SettledReservation> {
  const { bucket, key, id, scope } = row
  if (unconfirmed === 'confirm') {
    const stored = await storage.head(bytesOf(row, signal && { signal }))
    if (stored && matchesRequest(row, stored)) {
      const { size, eTag } = stored
      return records.confirm({ bucket, key, id, scope, size, eTag }).then(() => 'confirmed', goneIfEnded)
    }
  }
  // The bytes may have arrived since. Their owner was told that they are safe.
  const released = await records.objects.release({ bucket, key, id, scope, unlessArrived: true })
  return released ? 'released' : 'gone'
}

function goneIfEnded(error: unknown): 'gone' {
  if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return 'gone'
  throw error
}

/** How many items are settled at once: enough to hide the storage's latency without adding much load. */
export const SETTLED_AT_ONCE = 8

/** Ends an attempt that is still pending: first the row, then its parts and bytes. Reports failures: `cleanUp` retries. */
export async function endAttempt(
  dependencies: ServerDependencies,
  { bucket, key, id, scope }: StorageObject,
  context: ErrorContext,
): Promise<void> {
  try {
    const ended = await dependencies.records.objects.release({ bucket, key, id, scope })
    if (!ended) return
    await abortMultipartUpload(dependencies, ended, context)
    await removeBytes(dependencies, ended, context)
  } catch (error) {
    dependencies.report(error, context)
  }
}
