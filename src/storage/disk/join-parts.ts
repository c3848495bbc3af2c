import { open } from 'node:fs/promises'
import { nullIfMissing } from './file-system.js'
import { readDescription } from './object-file.js'

/** A part is missing or has changed, or the upload was aborted. */
export class PartsChangedError extends Error {}

interface PartFile {
  readonly path: string
  readonly eTag: string
}

/**
 * Yields the bytes of all parts in order. A part that is replaced while it is being read keeps its old bytes.
 * @throws PartsChangedError at the first part that is missing or has another ETag, and after the last part if the upload was
 * aborted in the meantime.
 */
export async function* joinParts(
  parts: readonly PartFile[],
  isAborted: () => Promise<boolean>,
): AsyncGenerator<Uint8Array, void> {
  for (const { path, eTag } of parts) {
    const file = await nullIfMissing(open(path, 'r'))
    if (!file) throw new PartsChangedError()
    try {
      const description = await readDescription(file)
      if (description.eTag !== eTag) throw new PartsChangedError()
      if (description.size === 0) continue
      yield* file.createReadStream({ start: 0, end: description.size - 1, autoClose: false })
    } finally {
      await file.close()
    }
  }
  if (await isAborted()) throw new PartsChangedError()
}
