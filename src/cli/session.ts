import type { StorageObjectStore } from '../index.js'
import type { FoundDatabase } from './databases/find-database.js'
import { EXIT } from './exit.js'
import { Interrupted, type Interruption } from './interruption.js'
import type { Item, Output } from './output/output.js'

/** What a command works with while it is connected. */
export interface Session {
  readonly store: StorageObjectStore
  readonly database: FoundDatabase
  /** Returns advice about the server's settings. */
  readonly advice: () => Promise<readonly string[]>
  readonly output: Output
  readonly interruption: Interruption
}

export interface LongWork {
  /** Number of items, if known. */
  readonly total: number | null
  /** The work changes nothing, so it needs no summary once the reader has closed the pipe. */
  readonly readOnly?: boolean
  /** Returns a sentence about the progress. `complete`: nothing is left to do. */
  summary(done: number, complete: boolean): string
}

export interface Step {
  /** Number of items processed. */
  readonly done: number
  /** What to print. Printed after the step has been counted: a failing write undoes nothing. */
  readonly items?: readonly Item[]
}

/**
 * Runs long work step by step and shows its progress. A signal ends it between two steps. Prints the summary however it
 * ends. Resolves to the number of items processed.
 */
export async function inSteps(
  { output, interruption }: Session,
  work: LongWork,
  steps: AsyncIterable<Step>,
): Promise<number> {
  const progress = output.progress(work.total)
  let done = 0
  let complete = false
  let needsSummary = true
  interruption.finishSteps()
  try {
    for await (const step of steps) {
      done += step.done
      await output.items(step.items ?? [])
      progress.advance(done)
      await interruption.checkpoint()
    }
    complete = true
    return done
  } catch (error) {
    // Before the first step, the error message alone says everything.
    needsSummary = error instanceof Interrupted ? !(work.readOnly && error.exitCode === EXIT.ok) : done > 0
    throw error
  } finally {
    progress.end()
    if (needsSummary) output.note(work.summary(done, complete))
  }
}
