import type { StorageObjectStore } from '../../../src/core/store/contract.js'
import { callOf, rowsAt } from './resolve-step.js'
import type { Script } from './script.js'
import type { Step } from './steps.js'

/** One step of a script: moves the clock, or makes a call and compares the answer. */
export async function takeStep(step: Step, script: Script, store: StorageObjectStore): Promise<void> {
  if (step.call === 'clock') return script.moveClock(step.by)
  if (step.call !== 'clockToExpiry') return script.take(callOf(step, script), store)
  const { pending } = rowsAt(step.at, script)
  const lapses = pending?.expiresAt?.getTime() ?? Infinity
  // A clock at the end of time would leave no future to reserve for.
  if (lapses < script.clock.in(365 * 24 * 3_600_000).getTime())
    script.moveClock(lapses + step.by - script.clock.time)
}
