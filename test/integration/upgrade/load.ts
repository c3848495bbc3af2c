import { randomUUID } from 'node:crypto'
import type { StorageObject, StorageObjectStore } from '@svc/db'
import type { StoredEventType } from '@svc/db/adapter'
import { changeHotKey } from './hot-keys.js'
import { keepHouse } from './housekeeping.js'
import { changeOwnKey, differencesOf, type OwnKey } from './own-keys.js'

export const BUCKET = 'upgrade'
export const SCOPES = ['ann', 'bob', 'cid', 'dan', 'eve', 'fay', 'tight'] as const
/** The scope whose quota is nearly always used up. */
export const TIGHT = 'tight'
export const TIGHT_QUOTA = { maxBytes: 600, maxFiles: 12 }

export type Version = '1.5.5' | '2.0'

/** An acknowledged change of an active object, with the row as it was returned. */
export interface Change {
  readonly type: StoredEventType
  readonly row: StorageObject
  /** When the call began and ended, in milliseconds since 1970. */
  readonly begin: number
  readonly end: number
  /** False if the call may have found the object as it should be, and so changed nothing. */
  readonly isCertain: boolean
}

export interface LoadTask {
  readonly version: Version
  readonly callers: number
  /** The keys that only this process writes, as the process before left them. */
  readonly keys: readonly OwnKey[]
}

export interface LoadReport {
  calls: number
  refused: number
  /** The longest call, in milliseconds. */
  longestPause: number
  keys: OwnKey[]
  changes: Change[]
  /** Unexpected errors, and acknowledged writes that are missing. */
  faults: string[]
}

export function emptyLoadReport(): LoadReport {
  return { calls: 0, refused: 0, longestPause: 0, keys: [], changes: [], faults: [] }
}

/** One of the concurrent callers of a process. */
export interface Caller {
  readonly store: StorageObjectStore
  readonly version: Version
  readonly keys: readonly OwnKey[]
  readonly report: LoadReport
  /** Makes a call. Returns `null` if it was refused with one of these codes. Any other error is a fault. */
  readonly call: <T>(name: string, call: () => Promise<T>, refusals?: readonly string[]) => Promise<T | null>
  /** Makes a call that changes an active object if it returns a row, and records the change. */
  readonly change: (
    type: StoredEventType,
    call: () => Promise<StorageObject | null>,
    options?: { readonly refusals?: readonly string[]; readonly isCertain?: boolean },
  ) => Promise<StorageObject | null>
}

export const randomBelow = (limit: number) => Math.floor(Math.random() * limit)
export const pick = <T>(values: readonly T[]): T => values[randomBelow(values.length)]!
export const inAnHour = () => new Date(Date.now() + 3_600_000)
/** Returns a filename that no other write uses. */
export const uniqueFilename = () => `${randomUUID()}.txt`

/** Checks what the previous process left behind, then makes random calls until `isOver`. */
export async function runLoad(
  store: StorageObjectStore,
  { version, callers, keys }: LoadTask,
  report: LoadReport,
  isOver: () => boolean,
): Promise<void> {
  report.keys = keys.map((key) => ({ ...key }))
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const own = report.keys.filter((_, place) => place % callers === index)
      const caller = callerOf(store, version, own, report)
      for (const key of own) report.faults.push(...(await differencesOf(caller, key)))
      while (!isOver() && report.faults.length === 0) {
        const die = randomBelow(10)
        if (die === 0) await keepHouse(caller)
        else if (die < 4) await changeHotKey(caller)
        else await changeOwnKey(caller, pick(own))
      }
    }),
  )
}

function callerOf(
  store: StorageObjectStore,
  version: Version,
  keys: readonly OwnKey[],
  report: LoadReport,
): Caller {
  async function call<T>(
    name: string,
    make: () => Promise<T>,
    refusals: readonly string[] = [],
  ): Promise<T | null> {
    const begin = performance.now()
    try {
      return await make()
    } catch (error) {
      if (refusals.includes(codeOf(error))) report.refused++
      else report.faults.push(`${name} of ${version}: ${textOf(error)}`)
      return null
    } finally {
      report.calls++
      report.longestPause = Math.max(report.longestPause, performance.now() - begin)
    }
  }
  return {
    store,
    version,
    keys,
    report,
    call,
    async change(type, make, { refusals, isCertain = true } = {}) {
      const begin = Date.now()
      const row = await call(type, make, refusals)
      // Ending an upload in progress changes no active object.
      if (row && row.status !== 'pending') {
        report.changes.push({ type, row, begin, end: Date.now(), isCertain })
      }
      return row
    },
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.stack ?? error.message}, ${String(error.cause)}` : String(error)
}
