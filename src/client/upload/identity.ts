import type { UploadRequest } from './upload-request.js'

/**
 * Returns a text of everything that makes two uploads the same. `null` for a `Blob`, which has no name and time to recognize
 * it by.
 */
export function identityOf(file: Blob, { route, filename, size, metadata }: UploadRequest): string | null {
  // Not `instanceof`, because the file may come from another frame.
  const { name, lastModified } = file as Partial<File>
  return name === undefined || lastModified === undefined
    ? null
    : JSON.stringify([
        route || null,
        filename,
        Object.entries(metadata || {}).sort(),
        name,
        size,
        lastModified,
      ])
}
