import type { StorageObjectStore } from '@svc/db'
import { StorageError } from '@svc/db'

/** Scopes that all processes share, with what each may hold. Files of them never go, so their number only grows. */
export const LOADED_SCOPES: Readonly<Record<string, number>> = {
  'load: one of many files {}*': 1_000_000,
  'load: another "\\*?[]': 1_000_000,
  'load: a full one': 30,
}
const BUCKET = 'load'

export interface LoadReport {
  answers: number
  /** Answers that came from Redis. */
  hits: number
  writes: number
  refused: number
  /** Answers that were older than what the database had when they were asked for. */
  old: number
  /** Reports to the operator. */
  told: number
  /** Sentences about what must not happen. */
  faults: string[]
}

export interface LoadedStores {
  readonly cached: StorageObjectStore
  /** The same without the cache. */
  readonly database: StorageObjectStore
}

export interface LoadOptions {
  readonly callers: number
  /** Unlike that of any other process. */
  readonly prefix: string
  /** Milliseconds. */
  readonly ttl: number
  /** Whether Redis keeps what it takes, so that no answer may be old. */
  readonly isReliable: boolean
  readonly isOver: () => boolean
}

export function emptyLoadReport(): LoadReport {
  return { answers: 0, hits: 0, writes: 0, refused: 0, old: 0, told: 0, faults: [] }
}

/** A number of files that the database was seen to have at a moment. */
interface Sight {
  readonly time: number
  readonly files: number
}

/**
 * Callers that read usages, mostly, and now and then write, until told to stop. Before each usage the database itself is
 * asked how much there is, whoever wrote it, acknowledged or not; an answer must not be older than that or, where Redis
 * may lose what it was told, not older than what was there `ttl` before.
 */
export async function runLoad(
  { cached, database }: LoadedStores,
  report: LoadReport,
  { callers, prefix, ttl, isReliable, isOver }: LoadOptions,
): Promise<void> {
  const scopes = Object.keys(LOADED_SCOPES)
  const sights: Record<string, Sight[]> = Object.fromEntries(scopes.map((scope) => [scope, []]))
  let written = 0

  async function read(scope: string): Promise<void> {
    const floor = filesOf(await database.getScopeUsage(scope))
    const start = performance.now()
    const known = sights[scope]!
    if (floor > (known.at(-1)?.files ?? -1)) known.push({ time: start, files: floor })
    while (known.length > 1 && known[1]!.time < start - ttl) known.shift()

    const answer = filesOf(await cached.getScopeUsage(scope))
    report.answers++
    const oldest = known[0]!.time < start - ttl ? known[0]!.files : 0
    if (answer > LOADED_SCOPES[scope]!) report.faults.push(`${scope} has ${answer} files`)
    if (answer >= floor) return
    report.old++
    if (isReliable) report.faults.push(`${scope} has ${floor} files, the answer was ${answer}`)
    else if (answer < oldest) report.faults.push(`${scope} had ${oldest} files long ago, not ${answer}`)
  }

  async function write(scope: string): Promise<void> {
    const reference = { bucket: BUCKET, key: `${prefix}/${written++}` }
    const expiresAt = new Date(Date.now() + 3_600_000)
    const quota = { maxFiles: LOADED_SCOPES[scope]! }
    try {
      const { id } = await cached.reserve({ scope, ...reference, declaredSize: 1, expiresAt, quota })
      // Some without the scope, which the cache then learns only from the database.
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
      for (let turn = caller; !isOver() && report.faults.length === 0; turn++) {
        const scope = scopes[turn % scopes.length]!
        try {
          if (turn % 16 === 0) await write(scopes[Math.floor(turn / 16) % scopes.length]!)
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
