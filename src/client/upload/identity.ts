import type { UploadRequest } from './upload-request.js'

/**
 * Returns a text of everything that makes two uploads the same. `null` for a `Blob`, which has no name and time to recognize
 * it by.
 */
export function identityOf(file: Blob, { route, filename, size, metadata }: UploadRequest): string | null {
  // Not `instanceof`, because the file may come from another frame.
  const { name, lastModified } = file as Partial<File>
  if (name === undefined || lastModified === undefined) return null
  const metadataEntries = Object.entries(metadata || {}).sort()
  return JSON.stringify([route || null, filename, metadataEntries, name, size, lastModified])
}
