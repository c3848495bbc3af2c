import { DEFAULT_PART_SIZE } from '../../../../src/server/attempts/sizes.js'
/** Size of all parts except the last. */
export const PART = DEFAULT_PART_SIZE

let files = 0

/** Creates a file with a unique name, each part of which is filled with its part number. */
export function fileOf(size: number, options: FilePropertyBag = {}): File {
  const bytes = new Uint8Array(size)
  for (let part = 0; part * PART < size; part++) bytes.fill(part + 1, part * PART, (part + 1) * PART)
  return new File([bytes], `${++files}.bin`, { type: 'text/plain', lastModified: files, ...options })
}

/** Creates a file of three parts, the last of which has 3 bytes. */
export const threeParts = (options?: FilePropertyBag): File => fileOf(2 * PART + 3, options)
