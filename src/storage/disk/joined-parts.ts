import { open } from 'node:fs/promises'
import { isMissing } from './file-errors.js'
import { readDescription } from './object-file.js'

/** The parts of an upload are not, or no longer, those that were named. */
export class OtherParts extends Error {}

interface PartFile {
  readonly path: string
  readonly eTag: string
}

/**
 * The bytes of all parts, one after the other. A part that is replaced while it is read goes on as it was.
 * @throws OtherParts as soon as one is missing or another one; and after the last if the upload was aborted meanwhile.
 */
export async function* bytesOfParts(
  parts: readonly PartFile[],
  isAborted: () => Promise<boolean>,
): AsyncGenerator<Uint8Array, void> {
  for (const { path, eTag } of parts) {
    const file = await open(path, 'r').catch((error: unknown) => {
      throw isMissing(error) ? new OtherParts() : error
    })
    try {
      const description = await readDescription(file)
      if (description.eTag !== eTag) throw new OtherParts()
      if (description.size === 0) continue
      yield* file.createReadStream({ start: 0, end: description.size - 1, autoClose: false })
    } finally {
      await file.close()
    }
  }
  if (await isAborted()) throw new OtherParts()
}
