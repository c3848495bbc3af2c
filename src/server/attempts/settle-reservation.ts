import { StorageError } from '../../core/errors.js'
import type { StorageObject } from '../../core/store/records.js'
import { confirmAttempt } from './confirm-attempt.js'
import { bytesOf, isAsAnnounced } from '../own-bytes.js'
import type { ServerParts } from '../server-parts.js'

/** How many items are settled side by side: enough to hide a bucket's latency, too few to burden it. */
export const SETTLED_AT_ONCE = 8

/**
 * What became of a lapsed reservation: its upload had finished, so it is an object now; or it was ended; or somebody else
 * had confirmed or ended it meanwhile.
 */
export type SettledReservation = 'confirmed' | 'released' | 'gone'

/**
 * Ends a lapsed reservation without losing an upload that finished: what lies there as announced is confirmed late,
 * anything else is released. Its bytes are then a leftover. Rejects, and changes nothing, where the bucket doesn't answer.
 */
export async function settleReservation(
  { storage, records }: Pick<ServerParts, 'storage' | 'records'>,
  row: StorageObject,
  unconfirmed: 'confirm' | 'discard',
  signal?: AbortSignal,
): Promise<SettledReservation> {
  if (unconfirmed === 'confirm') {
    const stored = await storage.head(bytesOf(row, signal))
    if (stored && isAsAnnounced(row, stored)) {
      return confirmAttempt(records, row, stored).then(() => 'confirmed', goneIfEnded)
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
