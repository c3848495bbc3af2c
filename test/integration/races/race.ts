import type { Connection } from './database.js'
import type { ProgramName } from './programs.js'

/** The task of one worker process. */
export interface RaceTask {
  readonly program: ProgramName
  /** Index of this process. */
  readonly worker: number
  /** Number of concurrent callers in this process. */
  readonly callers: number
  readonly connection: Connection
}

/** An attempt whose storage key is its id. */
export interface OwedAttempt {
  /** The number of its key. */
  readonly key: number
  readonly id: string
}

/** The result of one or more workers. */
export interface RaceReport {
  /** Number of calls that succeeded. */
  acknowledged: number
  /** Number of calls that the contract refuses: a taken key, a full quota, an ended attempt. */
  refused: number
  /** Acknowledged bytes and files, minus acknowledged removals. */
  bytes: number
  files: number
  /** Attempts whose end was acknowledged. Each must appear once. */
  ends: string[]
  /** Objects that a caller has kept or accepted. None of them may end. */
  kept: string[]
  /** Attempts that began and whose leftover was not forgotten. Each must be live or have a leftover. */
  owed: OwedAttempt[]
  /** Descriptions of violations: unexpected errors, and acknowledged writes that are missing. */
  faults: string[]
}

export function emptyReport(): RaceReport {
  return { acknowledged: 0, refused: 0, bytes: 0, files: 0, ends: [], kept: [], owed: [], faults: [] }
}

export function sumOfReports(reports: readonly RaceReport[]): RaceReport {
  const sum = emptyReport()
  for (const report of reports) {
    sum.acknowledged += report.acknowledged
    sum.refused += report.refused
    sum.bytes += report.bytes
    sum.files += report.files
    sum.ends.push(...report.ends)
    sum.kept.push(...report.kept)
    sum.owed.push(...report.owed)
    sum.faults.push(...report.faults)
  }
  return sum
}
