import type { ObjectStorage } from '../../core/object-storage.js'
import { checkSelfServingOptions, type SelfServingOptions } from '../local/self-serving-options.js'
import { createSelfServingStorage } from '../local/storage.js'
import type { ClaimWrite } from '../local/write-turns.js'
import type { Secret } from '../local/signed-urls.js'
import { createMemoryByteStore, type MemoryObject } from './memory-byte-store.js'
import { createMemoryPartStore } from './memory-part-store.js'

export type MemoryStorageOptions = SelfServingOptions

/**
 * Creates an object storage in memory, for tests and demos. Every bucket name exists. Its signed URLs point to the server
 * that uses it. The bytes and the URLs are lost with this instance.
 *
 * @throws TypeError if `baseURL` is not an absolute http(s) URL, or if `now` is not a function.
 */
export function memoryStorage(options: MemoryStorageOptions = {}): ObjectStorage {
  const checked = checkSelfServingOptions('memoryStorage', options)
  const objects = new Map<string, MemoryObject>()
  const byteStore = createMemoryByteStore(objects, checked.now)
  const partStore = createMemoryPartStore(objects, checked.now)
  return createSelfServingStorage({ byteStore, partStore, secret: createSecret, claimWrite }, checked)
}

/** No other process can write to the memory of this one. */
const claimWrite: ClaimWrite = async () => ({ keep: async () => true, release: async () => undefined })

/** Runs on first use, because some runtimes forbid random numbers before the first request. */
function createSecret(): Promise<Secret> {
  return crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}
