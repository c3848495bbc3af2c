import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { StorageObject, StoredEvent } from '@svc/db'
import type { RecordedChange } from '@svc/db/adapter'

type Json<T> = T extends Date ? string : T extends object ? { readonly [Name in keyof T]: Json<T[Name]> } : T

export type LoggedObject = Json<StorageObject>
export type LoggedEvent = Json<StoredEvent>
export type LoggedChange = Json<RecordedChange>

/** One line of a log. Times are those of {@link microseconds}, unless they are named `from` and `until`. */
export type LogLine =
  /** A write is about to be called. `change` names the event that it may record, as `nameOf` does. */
  | { readonly kind: 'called'; readonly change: string }
  /** A write returned this row, which is active, or was until the write removed it. */
  | { readonly kind: 'changed'; readonly row: StorageObject | LoggedObject }
  /** The contract refused a write, or it found nothing to change. */
  | { readonly kind: 'refused'; readonly change: string }
  /** The database failed. The call may or may not have taken effect. */
  | { readonly kind: 'unavailable'; readonly text: string }
  | { readonly kind: 'fault'; readonly text: string }
  | LoggedClaim
  /** Claims were extended. `until` is their new end by the clock of the stores. */
  | { readonly kind: 'extended'; readonly claims: readonly string[]; readonly until: number }
  /** The claimer is about to settle these claims. */
  | { readonly kind: 'settling'; readonly claims: readonly string[]; readonly at: number }
  /** These claims still held, and their events were removed. */
  | { readonly kind: 'settled'; readonly claims: readonly string[]; readonly at: number }

/** One call of `claimEvents` that returned events. */
export interface LoggedClaim {
  readonly kind: 'claimed'
  readonly calledAt: number
  readonly at: number
  /** When the response arrived and when the claims end, by the clock of the stores. */
  readonly from: number
  readonly until: number
  readonly events: readonly (StoredEvent | LoggedEvent)[]
}

/** Returns a value as a log has it. */
export function asLogged<T>(value: T): Json<T> {
  return JSON.parse(JSON.stringify(value)) as Json<T>
}

/** Returns the name of one claim of one event. */
export function claimOf({ id, claim }: { readonly id: string; readonly claim: string }): string {
  return `${id} ${claim}`
}

/** Returns a time that all processes of the machine share and that never goes back. */
export function microseconds(): number {
  return Number(process.hrtime.bigint() / 1000n)
}

/** A file with one line of JSON for each entry. */
export interface EventLog {
  write(line: LogLine): void
  close(): void
}

/** Opens a log. Each line is in the file before the next statement runs, so it survives `kill -9` of the process. */
export function openLog(file: string): EventLog {
  const descriptor = openSync(file, 'a')
  return {
    write: (line) => void writeSync(descriptor, `${JSON.stringify(line)}\n`),
    close: () => closeSync(descriptor),
  }
}

/** Reads a log. A line that was cut off by the end of the process is left out: nothing was done after it. */
export function readLog(file: string): LogLine[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as LogLine)
}
