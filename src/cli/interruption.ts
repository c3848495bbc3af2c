import { EXIT, type ExitCode } from './exit-codes.js'

/** A run that was ended from outside between two steps. */
export class Interrupted extends Error {
  readonly exitCode: ExitCode

  constructor(exitCode: ExitCode) {
    super('Interrupted.')
    this.exitCode = exitCode
  }
}

/** How a run is ended from outside: by ctrl-C, by a signal, or because nobody reads its output any more. */
export interface Interruption {
  /** From now on a signal waits for the step that is under way. Before, it ends the process at once. */
  finishSteps(): void
  /** Between two steps. @throws Interrupted once the run is to end. */
  checkpoint(): Promise<void>
  /** Whoever read the output has gone: a pipe into `head` has what it wants, and that is no failure. */
  readerHasGone(): void
}

export function listenForInterruption(say: (message: string) => void): Interruption {
  let finishesSteps = false
  let ended: ExitCode | null = null

  function onSignal(signal: 'SIGINT' | 'SIGTERM'): void {
    if (!finishesSteps || ended !== null) {
      say(
        'Ended at once. Each step of the database happens wholly or not at all, so the command may be run again.',
      )
      process.exit(EXIT[signal])
    }
    ended = EXIT[signal]
    say('Stopping after the current step. Once more ends it at once.')
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)

  return {
    finishSteps() {
      finishesSteps = true
    },
    async checkpoint() {
      // Gives a signal that came during a long write its turn.
      await new Promise((resolve) => setImmediate(resolve))
      if (ended !== null) throw new Interrupted(ended)
    },
    readerHasGone() {
      ended ??= EXIT.ok
    },
  }
}
