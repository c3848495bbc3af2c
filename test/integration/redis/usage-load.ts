import type { StorageObjectStore } from '@svc/db'
import { StorageError } from '@svc/db'
import type { Connection } from '../races/database.js'

/**
 * Scopes that all processes share, with the maximum files of each. Files are never removed, so their number only grows.
 */
export const LOADED_SCOPES: Readonly<Record<string, number>> = {
  'load: one of many files {}*': 1_000_000,
  'load: another "\\*?[]': 1_000_000,
  'load: a full one': 30,
}
const BUCKET = 'load'

export interface LoadTask {
  readonly worker: number
  readonly callers: number
  readonly connection: Connection
  /** The URL of Redis. */
  readonly redis: string
  readonly prefix: string
  readonly ttlSeconds: number
  readonly isReliable: boolean
}

export interface LoadReport {
  /** Usages read through the cache. */
  reads: number
  /** Reads that were served from Redis. */
  hits: number
  writes: number
  /** Writes refused because of the quota. */
  refused: number
  /** Reads that were older than the database at the time of the call. */
  stale: number
  /** Calls of `onError`. */
  errors: number
  /** Violations, in sentences. */
  faults: string[]
}

export interface LoadedStores {
  readonly cached: StorageObjectStore
  /** The same store without the cache. */
  readonly database: StorageObjectStore
}

export interface LoadOptions {
  readonly callers: number
  /** Different in every process. */
  readonly prefix: string
  /** Lifetime of a cached usage, in milliseconds. */
  readonly ttl: number
  /** Whether Redis loses nothing. Then no read may be stale. */
  readonly isReliable: boolean
  readonly isOver: () => boolean
}

export function emptyLoadReport(): LoadReport {
  return { reads: 0, hits: 0, writes: 0, refused: 0, stale: 0, errors: 0, faults: [] }
}

/** The number of files in the database at a moment. */
interface Observation {
  readonly time: number
  readonly files: number
}

/**
 * Runs callers that mostly read usages and sometimes write, until `isOver`. Before each read through the cache, the
 * caller reads the database itself. The cached usage must not be older than that or, if Redis may lose data, not older
 * than the database was `ttl` before.
 */
export async function runLoad(
  { cached, database }: LoadedStores,
  report: LoadReport,
  { callers, prefix, ttl, isReliable, isOver }: LoadOptions,
): Promise<void> {
  const scopes = Object.keys(LOADED_SCOPES)
  const observations: Record<string, Observation[]> = Object.fromEntries(scopes.map((scope) => [scope, []]))
  let written = 0

  async function read(scope: string): Promise<void> {
    const floor = filesOf(await database.getScopeUsage(scope))
    const start = performance.now()
    const known = observations[scope]!
    if (floor > (known.at(-1)?.files ?? -1)) known.push({ time: start, files: floor })
    while (known.length > 1 && known[1]!.time < start - ttl) known.shift()

    const read = filesOf(await cached.getScopeUsage(scope))
    report.reads++
    const oldest = known[0]!.time < start - ttl ? known[0]!.files : 0
    if (read > LOADED_SCOPES[scope]!) report.faults.push(`${scope} has ${read} files`)
    if (read >= floor) return
    report.stale++
    if (isReliable) report.faults.push(`${scope} has ${floor} files, but the cache returned ${read}`)
    else if (read < oldest)
      report.faults.push(`${scope} had ${oldest} files long ago, but the cache returned ${read}`)
  }

  async function write(scope: string): Promise<void> {
    const reference = { bucket: BUCKET, key: `${prefix}/${written++}` }
    const expiresAt = new Date(Date.now() + 3_600_000)
    const quota = { maxFiles: LOADED_SCOPES[scope]! }
    try {
      const { id } = await cached.reserve({ scope, ...reference, declaredSize: 1, expiresAt, quota })
      // Some confirms don't name the scope. The cache then learns it from the database only.
      const named = written % 8 === 0 ? {} : { scope }
      await cached.confirm({ ...reference, ...named, id, size: 1, quota })
      report.writes++
    } catch (error) {
      if (error instanceof StorageError && error.code === 'QUOTA_EXCEEDED') report.refused++
      else throw error
    }
  }

  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let i = caller; !isOver() && report.faults.length === 0; i++) {
        const scope = scopes[i % scopes.length]!
        try {
          if (i % 16 === 0) await write(scopes[Math.floor(i / 16) % scopes.length]!)
          else await read(scope)
        } catch (error) {
          report.faults.push(`${String(error)}, ${String((error as Error).cause)}`)
        }
      }
    }),
  )
}

function filesOf({ files, reservedFiles }: { files: number; reservedFiles: number }): number {
  return files + reservedFiles
}
