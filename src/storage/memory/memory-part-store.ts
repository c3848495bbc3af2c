import { keyId } from '../../core/names.js'
import type { PartStore, UploadDescription, UploadReference } from '../local/part-store.js'
import { concatenate, readAll, sha256Hex, type MemoryObject } from './memory-byte-store.js'

interface Part {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly eTag: string
}

interface Upload extends UploadDescription {
  readonly parts: Map<number, Part>
}

/** Stores multipart uploads in memory, next to the objects that they become. */
export function createMemoryPartStore(objects: Map<string, MemoryObject>, now: () => Date): PartStore {
  const uploadsByKey = new Map<string, Map<string, Upload>>()

  function uploadsOf(bucket: string, key: string): ReadonlyMap<string, Upload> {
    const at = keyId({ bucket, key })
    return objects.has(at) ? new Map() : (uploadsByKey.get(at) ?? new Map<string, Upload>())
  }

  function find({ bucket, key, uploadId }: UploadReference): Upload | null {
    return uploadsOf(bucket, key).get(uploadId) ?? null
  }

  function end({ bucket, key, uploadId }: UploadReference): void {
    const at = keyId({ bucket, key })
    uploadsByKey.get(at)?.delete(uploadId)
    if (uploadsByKey.get(at)?.size === 0) uploadsByKey.delete(at)
  }

  return {
    async begin(bucket, key, description) {
      const uploadId = crypto.randomUUID()
      const at = keyId({ bucket, key })
      const uploads = uploadsByKey.get(at) ?? new Map<string, Upload>()
      uploadsByKey.set(at, uploads.set(uploadId, { ...description, parts: new Map() }))
      return uploadId
    },

    isOpen: async (reference) => find(reference) !== null,

    async write(reference, partNumber, { chunks, beforePublishing }) {
      const bytes = await readAll(chunks)
      const eTag = `"${await sha256Hex(bytes)}"`
      // No await below: a part must not be added to an upload that has ended.
      const upload = find(reference)
      beforePublishing?.()
      upload?.parts.set(partNumber, { bytes, eTag })
      return upload && eTag
    },

    async list(reference) {
      const upload = find(reference)
      if (!upload) return null
      return [...upload.parts]
        .sort(([one], [other]) => one - other)
        .map(([partNumber, { bytes, eTag }]) => ({ partNumber, size: bytes.byteLength, eTag }))
    },

    async complete(reference, parts) {
      const findParts = () => {
        const upload = find(reference)
        const found = parts.map(({ partNumber }) => upload?.parts.get(partNumber))
        const matching = found.filter((part, index) => part?.eTag === parts[index]?.eTag)
        return upload && matching.length === parts.length ? { upload, found } : null
      }
      const before = findParts()
      if (!before) return false
      const bytes = concatenate(before.found.map((part) => part?.bytes ?? new Uint8Array()))
      // Derived from the ETags of the parts, as in S3, to avoid hashing all bytes again.
      const eTag = `"${await sha256Hex(new TextEncoder().encode(parts.map((part) => part.eTag).join()))}"`
      // No await below: the upload must still exist with these parts when it becomes the object.
      const after = findParts()
      if (!after) return false
      const { contentType, attemptId } = after.upload
      const description = { size: bytes.byteLength, contentType, eTag, attemptId }
      objects.set(keyId(reference), { bytes, description, writtenAt: now().getTime() })
      end(reference)
      return true
    },

    async abort(reference) {
      end(reference)
    },

    uploads: async (bucket, key) => [...uploadsOf(bucket, key).keys()],
  }
}
