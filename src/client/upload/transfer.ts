import type { Traffic } from './begin.js'
import type { KeptAttempts } from './kept-attempts.js'
import type { ReportSent, trackPhase } from './progress.js'
import type { PutBytes } from './transport.js'
import type { UploadContext, UploadRequest } from './upload-request.js'

/** A file on its way to the bucket. */
export interface Transfer extends UploadContext {
  readonly kept: KeptAttempts
  readonly traffic: Traffic
  readonly put: PutBytes
  readonly file: Blob
  readonly uploadRequest: UploadRequest
  /** See `identityOf`. */
  readonly identity: string | false
  readonly progress: ReportSent
  readonly phase: ReturnType<typeof trackPhase>
  readonly signal: AbortSignal
}

/**
 * Takes the items one by one, and works on four at once: a browser has six connections to a host. Rejects with the first error, and
 * leaves the rest.
 */
export async function severalAtOnce<Item>(
  items: Item[],
  work: (item: Item) => Promise<unknown>,
  count = 4,
): Promise<void> {
  const run = async () => {
    while (items.length > 0) await work(items.shift()!)
  }
  try {
    await Promise.all(Array.from({ length: count }, run))
  } finally {
    items.length = 0
  }
}
