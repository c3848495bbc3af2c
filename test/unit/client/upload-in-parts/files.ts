const MIB = 1024 ** 2
/** The size of all parts but the last. */
export const PART = 8 * MIB

let files = 0

/** A file of so many bytes which no other test knows, each part of it filled with its number. */
export function fileOf(size: number, options: FilePropertyBag = {}): File {
  const bytes = new Uint8Array(size)
  for (let part = 0; part * PART < size; part++) bytes.fill(part + 1, part * PART, (part + 1) * PART)
  return new File([bytes], `${++files}.bin`, { type: 'text/plain', lastModified: files, ...options })
}

/** Three parts, the last of which has 3 bytes. */
export const threeParts = (options?: FilePropertyBag): File => fileOf(2 * PART + 3, options)
