import { createStore } from '../../core/store/create-store.js'
import type { StoreParts } from '../../core/store/store-parts.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { cachedDriver } from './cached-driver.js'
import { createUsageCache, type UsageCacheOptions } from './usage-cache.js'

/** The store of these parts, with a cache in front of its usage. */
export function cachedStore({ driver, now }: StoreParts, options: UsageCacheOptions): StorageObjectStore {
  return createStore(cachedDriver(driver, createUsageCache(options)), { now })
}
