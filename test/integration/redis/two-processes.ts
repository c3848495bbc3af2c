import type { Redis } from 'ioredis'
import type { ScopeUsage, StorageObjectStore, StoreDriver } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createGate, type Gate } from './gate.js'
import { patientCache } from './patient-cache.js'
import { freshPrefix } from './servers.js'
import { around } from './shared-store.js'

type Method = keyof StoreDriver

/** A process that uses the cache: a store with a connection of its own, whose driver a test can hold and break. */
export interface CachingProcess {
  readonly store: StorageObjectStore
  /** Holds the next such call before the database does it. */
  holdBefore(method: Method): Gate
  /** Holds the next such call when the database has done it. */
  holdAfter(method: Method): Gate
  /** The next such call fails, though the database does it: now, or when the function returned is called. */
  loseAnswer(method: Method, when: 'done' | 'late'): () => Promise<void>
  /** The next such call answers this, and never gets to the database. */
  answerNext(method: Method, answer: unknown): void
  /** Calls of this method that got as far as the database. */
  calls(method: Method): number
  readonly errors: unknown[]
}

export interface TwoProcesses {
  readonly prefix: string
  /** The database without a cache. */
  readonly database: StorageObjectStore
  readonly writer: CachingProcess
  readonly reader: CachingProcess
  /** One file more in the scope, by a way that the cache doesn't see. */
  readonly writeBesideTheCache: (scope: string) => Promise<void>
}

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
    async writeBesideTheCache(scope) {
      const key = `beside the cache ${files++}`
      await database.reserve({ scope, bucket: 'bucket', key, declaredSize: 1, expiresAt: inAnHour(now) })
    },
  }
}

function cachingProcess(database: StorageObjectStore, redis: Redis, prefix: string): CachingProcess {
  const incidents: Incident[] = []
  const counts: Partial<Record<string, number>> = {}
  const errors: unknown[] = []
  const slow = around(database, async <T>(method: string, call: () => Promise<T>) => {
    counts[method] = (counts[method] ?? 0) + 1
    const index = incidents.findIndex((incident) => incident.method === method)
    if (index < 0) return call()
    const [incident] = incidents.splice(index, 1)
    return (await incident!.run(call)) as T
  })
  const next = (method: Method, run: Incident['run']) => void incidents.push({ method, run })

  return {
    store: patientCache(slow, redis, { prefix, onError: (error) => errors.push(error) }),
    errors,
    calls: (method) => counts[method] ?? 0,

    answerNext: (method, answer) => next(method, async () => answer),

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
        const answer = await call()
        await gate.pass()
        return answer
      })
      return gate
    },

    loseAnswer(method, when) {
      let doNow = async () => {}
      next(method, async (call) => {
        if (when === 'done') await call()
        else doNow = async () => void (await call())
        throw new Error('the answer was lost')
      })
      return () => doNow()
    },
  }
}

export function inAnHour(now: () => Date): Date {
  return new Date(now().getTime() + 3_600_000)
}

export function usage(files: number, reservedFiles: number, ofEach = 1): ScopeUsage {
  return { bytes: files * ofEach, files, reservedBytes: reservedFiles * ofEach, reservedFiles }
}
