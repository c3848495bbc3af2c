import type { Redis } from 'ioredis'
import type { ScopeUsage, StorageObjectStore } from '@svc/db'
import type { StoreDriver } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { longTimeoutCache } from './long-timeout-cache.js'
import { freshPrefix } from './redis-servers.js'
import { wrapDriver } from './shared-store.js'

type Method = keyof StoreDriver

/** A point at which a test holds a call. */
export interface Gate {
  /** Resolves once a call has reached the gate. */
  readonly reached: Promise<void>
  /** Lets the call continue. */
  open(): void
}

/**
 * A simulated process that uses the cache: a store with its own connection, whose driver calls a test can hold or fail.
 */
export interface CachingProcess {
  readonly store: StorageObjectStore
  /** Holds the next call of this method before the database carries it out. */
  holdBefore(method: Method): Gate
  /** Holds the next call of this method after the database has carried it out. */
  holdAfter(method: Method): Gate
  /**
   * Makes the next call fail although the database carries it out: at once, or when the returned function is called.
   */
  loseResponse(method: Method, when: 'done' | 'late'): () => Promise<void>
  /**
   * Holds the next call until the gate opens, and then makes it fail. The database carries it out when `carryOut` is called.
   */
  giveUp(method: Method): Gate & { carryOut(): Promise<void> }
  /** Makes the next call return this result without reaching the database. */
  fakeNext(method: Method, result: unknown): void
  /** Returns how many calls of this method have reached the database. */
  calls(method: Method): number
  readonly errors: unknown[]
}

export interface TwoProcesses {
  readonly prefix: string
  /** The database without a cache. */
  readonly database: StorageObjectStore
  readonly writer: CachingProcess
  readonly reader: CachingProcess
  /** Adds a file to the scope without the cache. */
  readonly writeWithoutCache: (scope: string) => Promise<void>
}

/** What happens to one call of a method. */
interface Incident {
  readonly method: Method
  readonly run: (call: () => Promise<unknown>) => Promise<unknown>
}

export function twoProcesses(clients: readonly [Redis, Redis], now: () => Date): TwoProcesses {
  const database = memoryAdapter({ now })
  const prefix = freshPrefix()
  let files = 0
  return {
    prefix,
    database,
    writer: cachingProcess(database, clients[0], prefix),
    reader: cachingProcess(database, clients[1], prefix),
    async writeWithoutCache(scope) {
      const key = `without the cache ${files++}`
      await database.reserve({ scope, bucket: 'bucket', key, declaredSize: 1, expiresAt: inAnHour(now) })
    },
  }
}

/** Makes Redis know every script. A script that it doesn't know is sent twice, and later commands overtake it. */
export async function loadScripts(clients: readonly [Redis, Redis], now: () => Date): Promise<void> {
  const { reader, writer } = twoProcesses(clients, now)
  const scope = 'scope'
  await writer.store.reserve({
    scope,
    bucket: 'bucket',
    key: 'key',
    declaredSize: 1,
    expiresAt: inAnHour(now),
  })
  // No call waits for the script that stores a usage, so this reads until one was stored.
  for (let calls = -1; calls < reader.calls('usage');) {
    calls = reader.calls('usage')
    await reader.store.getScopeUsage(scope)
  }
}

function cachingProcess(database: StorageObjectStore, redis: Redis, prefix: string): CachingProcess {
  const incidents: Incident[] = []
  const counts: Partial<Record<string, number>> = {}
  const errors: unknown[] = []
  const controlled = wrapDriver(database, async <T>(method: string, call: () => Promise<T>) => {
    counts[method] = (counts[method] ?? 0) + 1
    const index = incidents.findIndex((incident) => incident.method === method)
    if (index < 0) return call()
    const [incident] = incidents.splice(index, 1)
    return (await incident!.run(call)) as T
  })
  const next = (method: Method, run: Incident['run']) => void incidents.push({ method, run })

  return {
    store: longTimeoutCache(controlled, redis, { prefix, onError: (error) => errors.push(error) }),
    errors,
    calls: (method) => counts[method] ?? 0,

    fakeNext: (method, result) => next(method, async () => result),

    holdBefore(method) {
      const gate = createGate()
      next(method, async (call) => {
        await gate.pass()
        return call()
      })
      return gate
    },

    holdAfter(method) {
      const gate = createGate()
      next(method, async (call) => {
        const result = await call()
        await gate.pass()
        return result
      })
      return gate
    },

    loseResponse(method, when) {
      let carryOut = async () => {}
      next(method, async (call) => {
        if (when === 'done') await call()
        else carryOut = async () => void (await call())
        throw new Error('the response was lost')
      })
      return () => carryOut()
    },

    giveUp(method) {
      const gate = createGate()
      let carryOut = async () => {}
      next(method, async (call) => {
        carryOut = async () => void (await call())
        await gate.pass()
        throw new Error('the call took too long')
      })
      return { ...gate, carryOut: () => carryOut() }
    },
  }
}

function createGate(): Gate & { pass(): Promise<void> } {
  let arrive = () => {}
  let open = () => {}
  const reached = new Promise<void>((resolve) => (arrive = resolve))
  const opened = new Promise<void>((resolve) => (open = resolve))
  return {
    reached,
    open,
    pass() {
      arrive()
      return opened
    },
  }
}

export function inAnHour(now: () => Date): Date {
  return new Date(now().getTime() + 3_600_000)
}

export function usage(files: number, reservedFiles: number, ofEach = 1): ScopeUsage {
  return { bytes: files * ofEach, files, reservedBytes: reservedFiles * ofEach, reservedFiles }
}
