import type { MultipartReference, MultipartStorage, StoredPart } from '../../../core/object-storage.js'

/** All parts that lie in the bucket, by part number; `null` for no such upload. */
export async function storedParts(
  multipart: MultipartStorage,
  at: MultipartReference,
): Promise<readonly StoredPart[] | null> {
  const parts: StoredPart[] = []
  for (let after: number | null = 0; after !== null;) {
    const page = await multipart.listParts({ ...at, after })
    if (page === null) return null
    parts.push(...page.parts)
    after = page.next
  }
  return parts
}
