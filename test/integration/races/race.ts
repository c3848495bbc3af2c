import type { ProgramName } from './programs.js'

/** What one process of a race is told to do. */
export interface RaceTask {
  readonly program: ProgramName
  /** Number of this process among those that race. */
  readonly worker: number
  /** Callers at once in this process. */
  readonly callers: number
  readonly milliseconds: number
  /** Whatever the adapter needs to open the place that the processes share. */
  readonly place: Readonly<Record<string, string>>
}

/** What came of it. */
export interface RaceReport {
  /** Calls that did something. */
  acknowledged: number
  /** Calls that the contract refuses: a taken key, a full quota, an attempt that has ended. */
  refused: number
  /** Bytes and files that the caller was told are there, less those that it was told are gone. */
  bytes: number
  files: number
  /** Attempts that the caller was told have ended, each by one call. */
  ends: string[]
  /** Sentences about what must not happen: unforeseen errors, acknowledged writes that are not there. */
  faults: string[]
}

export function emptyReport(): RaceReport {
  return { acknowledged: 0, refused: 0, bytes: 0, files: 0, ends: [], faults: [] }
}

export function sumOfReports(reports: readonly RaceReport[]): RaceReport {
  const sum = emptyReport()
  for (const report of reports) {
    sum.acknowledged += report.acknowledged
    sum.refused += report.refused
    sum.bytes += report.bytes
    sum.files += report.files
    sum.ends.push(...report.ends)
    sum.faults.push(...report.faults)
  }
  return sum
}
