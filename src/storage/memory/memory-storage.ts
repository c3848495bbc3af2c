import { concatenate, hexOf } from '../../core/bytes.js'
import { namesOf } from '../../core/known-names.js'
import { keyId } from '../../core/names.js'
import type { ObjectStorage, StoredBytes } from '../../core/object-storage.js'
import { OptionChecks } from '../../core/option-checks.js'
import {
  PartChangedError,
  SWEEP_EVERY_MS,
  type ByteStore,
  type Description,
  type LocalBackend,
  type NewBytes,
  type PartStore,
  type Secret,
  type UploadReference,
} from '../local/contract.js'
import { webCrypto } from '../local/signed-urls.js'
import { createLocalStorage, LOCAL_OPTIONS, type LocalStorageOptions } from '../local/storage.js'

export type MemoryStorageOptions = LocalStorageOptions

const OPTIONS = namesOf<MemoryStorageOptions>(LOCAL_OPTIONS)
const checks = new OptionChecks('memoryStorage')

/**
 * Creates an object storage in memory, for tests and demos. Every bucket name exists. Its signed URLs point to the server
 * that uses it. The bytes and the URLs are lost with this instance.
 *
 * @throws TypeError if `baseURL` is not an absolute http(s) URL, or if another option is invalid.
 *
 * @example
 * import { memoryStorage } from '@svc/db'
 *
 * const storage = memoryStorage()
 */
export function memoryStorage(options?: MemoryStorageOptions | null): ObjectStorage {
  return createLocalStorage(checks, checks.optionalOptions(options, OPTIONS), (now) => ({
    objects: createByteStore(now),
    parts: createPartStore(),
    claimWrite,
    secret: createSecret,
  }))
}

/** No other process can write to the memory of this one. */
const claimWrite: LocalBackend['claimWrite'] = async () => ({
  keep: async () => true,
  release: async () => undefined,
})

/** Runs on first use, because some runtimes forbid random numbers before the first request. */
function createSecret(): Promise<Secret> {
  return webCrypto().generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

/** An object, or a part of an upload. */
interface StoredInMemory {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly description: StoredBytes & { readonly eTag: string }
}

/** Reads the bytes of a new object or part. After it, nothing may be awaited before they become visible. */
async function receive(content: NewBytes): Promise<StoredInMemory> {
  const { chunks, beforePublishing, contentType, attemptId } = content
  const copies: Uint8Array[] = []
  // Copied, because the producer may reuse the memory of a chunk.
  for await (const chunk of chunks) copies.push(new Uint8Array(chunk))
  const bytes = concatenate(copies)
  const digest = await webCrypto().digest('SHA-256', bytes)
  const eTag = `"${hexOf(new Uint8Array(digest))}"`
  await beforePublishing?.()
  return { bytes, description: { size: bytes.byteLength, contentType, eTag, attemptId } }
}

function createByteStore(now: () => Date): ByteStore {
  const objects = new Map<string, StoredInMemory & { readonly writtenAt: number }>()
  /** Until when removed objects can't be created again. */
  const closed = new Map<string, number>()
  let sweptAt = -Infinity

  function sweep(): void {
    const time = now().getTime()
    if (Math.abs(time - sweptAt) < SWEEP_EVERY_MS) return
    sweptAt = time
    for (const [id, end] of closed) if (end <= time) closed.delete(id)
  }

  return {
    describe: async (bucket, key) => objects.get(keyId({ bucket, key }))?.description ?? null,

    async close(bucket, key, until) {
      sweep()
      closed.set(keyId({ bucket, key }), until)
    },

    closedUntil: async (bucket, key) => closed.get(keyId({ bucket, key })) ?? 0,

    async open(bucket, key, select) {
      const stored = objects.get(keyId({ bucket, key }))
      if (!stored) return null
      const { bytes, description, writtenAt } = stored
      const selected = select({ ...description, lastModified: new Date(writtenAt) })
      const { range } = selected
      return { ...selected, body: range && bytes.subarray(range.start, range.end + 1) }
    },

    async create(bucket, key, content) {
      const received = await receive(content)
      const at = keyId({ bucket, key })
      if (objects.has(at)) return null
      objects.set(at, { ...received, writtenAt: now().getTime() })
      return received.description.eTag
    },

    async remove(bucket, key) {
      objects.delete(keyId({ bucket, key }))
    },

    async *objects(bucket) {
      const start = keyId({ bucket, key: '' })
      for (const [at, { description, writtenAt }] of objects) {
        const { size, eTag } = description
        if (at.startsWith(start)) {
          yield { key: at.slice(start.length), size, eTag, lastModified: new Date(writtenAt) }
        }
      }
    },
  }
}

interface Upload {
  readonly description: Description
  readonly parts: Map<number, StoredInMemory>
}

function createPartStore(): PartStore {
  const uploadsByKey = new Map<string, Map<string, Upload>>()
  const find = (upload: UploadReference) => uploadsByKey.get(keyId(upload))?.get(upload.uploadId)

  return {
    async begin(upload, description) {
      const uploads = uploadsByKey.get(keyId(upload)) ?? new Map<string, Upload>()
      uploadsByKey.set(keyId(upload), uploads.set(upload.uploadId, { description, parts: new Map() }))
    },

    describe: async (upload) => find(upload)?.description ?? null,

    async write(upload, partNumber, content) {
      const part = await receive(content)
      return find(upload)?.parts.set(partNumber, part) ? part.description.eTag : null
    },

    async list(upload) {
      const parts = find(upload)?.parts
      if (!parts) return null
      return [...parts].map(([partNumber, { description }]) => {
        const { size, eTag } = description
        return { partNumber, size, eTag }
      })
    },

    async *read(upload, { partNumber, eTag }) {
      const part = find(upload)?.parts.get(partNumber)
      if (part?.description.eTag !== eTag) throw new PartChangedError()
      yield part.bytes
    },

    async remove(upload) {
      const uploads = uploadsByKey.get(keyId(upload))
      uploads?.delete(upload.uploadId)
      if (uploads?.size === 0) uploadsByKey.delete(keyId(upload))
    },

    uploads: async (bucket, key) => [...(uploadsByKey.get(keyId({ bucket, key }))?.keys() ?? [])],
  }
}
