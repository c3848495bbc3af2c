import type { RedisClient } from '@svc/db/redis'
import { createStore, type StorageObjectStore, type StoreDriver } from '@svc/db'
import { partsOf } from '../../../src/core/store/store-parts.js'
import { patientCache } from './patient-cache.js'

/** What lies between a cache and its store, or its Redis: nothing, unless a test puts something there. */
type AroundCalls = <T>(method: string, call: () => Promise<T>) => Promise<T>

/** The store with something done around each call of its driver. */
export function around(store: StorageObjectStore, wrap: AroundCalls): StorageObjectStore {
  const { driver, now } = partsOf(store)!
  const wrapped = new Proxy(driver, {
    get(target, method: keyof StoreDriver) {
      const call = target[method].bind(target) as (...args: unknown[]) => Promise<unknown>
      return (...args: unknown[]) => wrap(method, () => call(...args))
    },
  })
  return createStore(wrapped, { now })
}

/** The client with something done around each of its commands. */
export function aroundRedis(redis: RedisClient, wrap: AroundCalls): RedisClient {
  return {
    evalsha: (...args) => wrap('evalsha', () => redis.evalsha(...args)),
    eval: (...args) => wrap('eval', () => redis.eval(...args)),
  }
}

/** Calls arrive some turns of the event loop after they were made, and so do their answers. */
export const late: AroundCalls = async (_method, call) => {
  await someTurns()
  try {
    return await call()
  } finally {
    await someTurns()
  }
}

async function someTurns(): Promise<void> {
  const turns = Math.floor(Math.random() * 4)
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Processes that share a database and a Redis: each call is made by one of them, whichever comes. */
export function anyOf(stores: readonly StorageObjectStore[]): StorageObjectStore {
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

/** The store as two processes see it, each with a cache and a connection of its own, and both with a slow network. */
export function sharedByTwo(
  store: StorageObjectStore,
  clients: readonly RedisClient[],
  options: { readonly prefix: string; readonly onError: (error: unknown) => void },
): StorageObjectStore {
  return anyOf(clients.map((client) => patientCache(around(store, late), aroundRedis(client, late), options)))
}
