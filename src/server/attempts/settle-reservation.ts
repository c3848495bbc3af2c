import { StorageError } from '../../core/errors.js'
import type { StorageObject } from '../../core/store/records.js'
import { bytesOf, matchesRequest } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { confirmMatching } from './confirm-upload.js'

/** The result for an expired reservation. `gone`: another call has confirmed or released it in the meantime. */
export type SettledReservation = 'confirmed' | 'released' | 'gone'

/**
 * Ends an expired reservation without losing a finished upload: confirms it if the stored bytes match the upload request,
 * and otherwise releases it, which makes its bytes a leftover. Rejects without any change if the storage fails.
 */
export async function settleReservation(
  { storage, records }: Pick<ServerDependencies, 'storage' | 'records'>,
  row: StorageObject,
  unconfirmed: 'confirm' | 'discard',
  signal?: AbortSignal,
): Promise<SettledReservation> {
  if (unconfirmed === 'confirm') {
    const stored = await storage.head(bytesOf(row, signal && { signal }))
    if (stored && matchesRequest(row, stored)) {
      return confirmMatching(records, row, stored).then(() => 'confirmed', goneIfEnded)
    }
  }
  const { bucket, key, id, scope } = row
  const released = await records.objects.release({ bucket, key, id, scope })
  return released ? 'released' : 'gone'
}

function goneIfEnded(error: unknown): 'gone' {
  if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return 'gone'
  throw error
}

/** How many items are settled concurrently: enough to hide the storage's latency without adding much load. */
const CONCURRENCY = 8

/** Splits items into batches that may be settled concurrently, in order. */
export function settlementBatches<T>(items: readonly T[]): T[][] {
  const count = Math.ceil(items.length / CONCURRENCY)
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * CONCURRENCY, (index + 1) * CONCURRENCY),
  )
}
