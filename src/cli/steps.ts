import { EXIT } from './exit-codes.js'
import { Interrupted } from './interruption.js'
import type { Item } from './output/output.js'
import type { Session } from './session.js'

export interface LongWork {
  /** Items in all, where that is known. */
  readonly total: number | null
  /** The work changes nothing, so that there is nothing to say to a reader who has gone. */
  readonly reading?: boolean
  /** How far it came, for a person. `complete`: nothing is left. */
  told(done: number, complete: boolean): string
}

export interface Step {
  /** Items that it did. */
  readonly done: number
  /** What is answered of it. Counted first: an answer that can't be written undoes nothing. */
  readonly items?: readonly Item[]
}

/**
 * Does long work step by step; each step says how many items it did. Between steps the run may be ended, and however
 * it ends, what was done is said. Resolves to that number.
 */
export async function inSteps(
  { output, interruption }: Session,
  work: LongWork,
  steps: AsyncIterable<Step>,
): Promise<number> {
  const progress = output.progress(work.total)
  let done = 0
  let complete = false
  let isHeard = true
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
    // An error that came before anything was done is all there is to say.
    isHeard = error instanceof Interrupted ? !(work.reading && error.exitCode === EXIT.ok) : done > 0
    throw error
  } finally {
    progress.end()
    if (isHeard) output.note(work.told(done, complete))
  }
}
