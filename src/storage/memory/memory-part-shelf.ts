import type { PartShelf, UploadDescription, UploadPlace } from '../signed-urls/part-shelf.js'
import { bytesOf, digestOf, place, type StoredObject } from './stored-object.js'

interface Part {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly eTag: string
}

interface Upload extends UploadDescription {
  readonly parts: Map<number, Part>
}

/** Keeps uploads in parts beside the objects that they become. */
export function createMemoryPartShelf(contents: Map<string, StoredObject>): PartShelf {
  const begun = new Map<string, Map<string, Upload>>()

  function uploadsAt(bucket: string, key: string): ReadonlyMap<string, Upload> {
    const at = place(bucket, key)
    return contents.has(at) ? new Map() : (begun.get(at) ?? new Map<string, Upload>())
  }

  function find({ bucket, key, uploadId }: UploadPlace): Upload | null {
    return uploadsAt(bucket, key).get(uploadId) ?? null
  }

  function end({ bucket, key, uploadId }: UploadPlace): void {
    const at = place(bucket, key)
    begun.get(at)?.delete(uploadId)
    if (begun.get(at)?.size === 0) begun.delete(at)
  }

  return {
    async begin(bucket, key, description) {
      const uploadId = crypto.randomUUID()
      const at = place(bucket, key)
      const uploads = begun.get(at) ?? new Map<string, Upload>()
      begun.set(at, uploads.set(uploadId, { ...description, parts: new Map() }))
      return uploadId
    },

    isOpen: async (at) => find(at) !== null,

    async write(at, partNumber, chunks) {
      const bytes = await bytesOf(chunks)
      const eTag = `"${await digestOf(bytes)}"`
      // From here on nothing is awaited, so that no part gets into an upload that has ended.
      const upload = find(at)
      upload?.parts.set(partNumber, { bytes, eTag })
      return upload && eTag
    },

    async list(at) {
      const upload = find(at)
      if (!upload) return null
      return [...upload.parts]
        .sort(([one], [other]) => one - other)
        .map(([partNumber, { bytes, eTag }]) => ({ partNumber, size: bytes.byteLength, eTag }))
    },

    async complete(at, parts) {
      const wanted = () => {
        const upload = find(at)
        const found = parts.map(({ partNumber }) => upload?.parts.get(partNumber))
        const right = found.filter((part, index) => part?.eTag === parts[index]?.eTag)
        return upload && right.length === parts.length ? { upload, found } : null
      }
      const before = wanted()
      if (!before) return false
      const bytes = new Uint8Array(
        await new Blob(before.found.map((part) => part?.bytes ?? new Uint8Array())).arrayBuffer(),
      )
      // As in S3, an ETag made of those of the parts: the bytes have been read once already.
      const eTag = `"${await digestOf(new TextEncoder().encode(parts.map((part) => part.eTag).join()))}"`
      // From here on nothing is awaited: the upload is still there with just these parts, or nothing is made of it.
      const now = wanted()
      if (!now) return false
      const { contentType, attemptId } = now.upload
      const description = { size: bytes.byteLength, contentType, eTag, attemptId }
      contents.set(place(at.bucket, at.key), { bytes, description })
      end(at)
      return true
    },

    async abort(at) {
      end(at)
    },

    uploads: async (bucket, key) => [...uploadsAt(bucket, key).keys()],
  }
}
