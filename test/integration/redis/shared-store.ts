import type { RedisClient } from '@svc/db/redis'
import type { StorageObjectStore } from '@svc/db'
import { createStore, type StoreDriver } from '@svc/db/adapter'
import { partsOf } from '../../../src/core/store/store-parts.js'
import { longTimeoutCache } from './long-timeout-cache.js'

/** Wraps the calls of a driver or a Redis client. */
type CallWrapper = <T>(method: string, call: () => Promise<T>) => Promise<T>

/** Wraps every driver call of a store. */
export function wrapDriver(store: StorageObjectStore, wrap: CallWrapper): StorageObjectStore {
  const { driver, now } = partsOf(store)!
  const wrapped = new Proxy(driver, {
    get(target, method: keyof StoreDriver) {
      const call = target[method].bind(target) as (...args: unknown[]) => Promise<unknown>
      return (...args: unknown[]) => wrap(method, () => call(...args))
    },
  })
  return createStore(wrapped, { now })
}

/** Wraps every command of a Redis client. */
export function wrapRedis(redis: RedisClient, wrap: CallWrapper): RedisClient {
  return {
    evalsha: (...args) => wrap('evalsha', () => redis.evalsha(...args)),
    eval: (...args) => wrap('eval', () => redis.eval(...args)),
  }
}

/** Delays calls and their results by a random number of event loop iterations. */
const delayed: CallWrapper = async (_method, call) => {
  await randomDelay()
  try {
    return await call()
  } finally {
    await randomDelay()
  }
}

async function randomDelay(): Promise<void> {
  const iterations = Math.floor(Math.random() * 4)
  for (let i = 0; i < iterations; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Returns a store that makes each call on a random one of these stores. */
function anyOf(stores: readonly StorageObjectStore[]): StorageObjectStore {
  const methods = Object.keys(stores[0]!) as (keyof StorageObjectStore)[]
  const calls = methods.map((method) => [
    method,
    (...args: never[]) => {
      const store = stores[Math.floor(Math.random() * stores.length)]!
      return (store[method] as (...args: never[]) => unknown)(...args)
    },
  ])
  return Object.fromEntries(calls) as StorageObjectStore
}

/**
 * Simulates processes that share a store and a Redis: each client gets its own cache, and calls arrive with random
 * delays.
 */
export function sharedByTwo(
  store: StorageObjectStore,
  clients: readonly RedisClient[],
  options: { readonly prefix: string; readonly onError: (error: unknown) => void },
): StorageObjectStore {
  return anyOf(
    clients.map((client) =>
      longTimeoutCache(wrapDriver(store, delayed), wrapRedis(client, delayed), options),
    ),
  )
}
