import type { ObjectStorage } from '../../core/object-storage.js'
import { checkSelfServingOptions, type SelfServingOptions } from '../signed-urls/self-serving-options.js'
import { createSelfServingStorage } from '../signed-urls/self-serving-storage.js'
import type { Secret } from '../signed-urls/url-signer.js'
import { createMemoryShelves } from './memory-shelves.js'

export type MemoryStorageOptions = SelfServingOptions

/**
 * A bucket service in memory, for tests and demos. Every bucket exists. Its signed URLs lead to the server that uses it,
 * and end with this instance, as do the bytes.
 *
 * @throws TypeError for a `baseURL` that is no absolute http(s) URL, and a `now` that is no function.
 */
export function memoryStorage(options: MemoryStorageOptions = {}): ObjectStorage {
  const checked = checkSelfServingOptions('memoryStorage', options)
  return createSelfServingStorage({ ...createMemoryShelves(), secret: createSecret }, checked)
}

/** Made when it is first needed: some runtimes have no randomness before their first request. */
function createSecret(): Promise<Secret> {
  return crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}
