export const EXIT = {
  ok: 0,
  /** A check found problems, `update` or `transfer` found no object, or an item of a job failed. */
  found: 1,
  /** Invalid arguments, or the driver of the database or the AWS SDK is not installed. */
  usage: 2,
  /** The database or the bucket is unreachable. The same command may succeed later. */
  unreachable: 3,
  /** An unexpected error. */
  failed: 4,
  /** The database or the bucket can't be used until an operator acts: it was never migrated, or doesn't exist. */
  unusable: 5,
  /** 128 plus the number of the signal, as in shells. */
  SIGINT: 130,
  SIGTERM: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Invalid arguments or settings. Ends the command with `EXIT.usage`. */
export class UsageError extends Error {
  /** What to try, one line each. */
  readonly hints: readonly string[]

  constructor(message: string, ...hints: readonly string[]) {
    super(message)
    this.hints = hints
  }
}

/** Thrown between two steps of a run that a signal or a closed pipe has ended. */
export class Interrupted extends Error {
  constructor(readonly exitCode: ExitCode) {
    super('Interrupted.')
  }
}

export type Interruption = ReturnType<typeof listenForInterruption>

/** Ends a run on Ctrl+C, on SIGTERM, or when the reader of its output closes the pipe. */
export function listenForInterruption(say: (message: string) => void) {
  let finishesSteps = false
  let ended: ExitCode | null = null
  let whenReaderGoes: ExitCode = EXIT.ok
  const controller = new AbortController()

  function onSignal(signal: 'SIGINT' | 'SIGTERM'): void {
    if (!finishesSteps || ended !== null) {
      say('Stopped immediately. Each database step is atomic, so you can run the command again.')
      process.exit(EXIT[signal])
    }
    ended = EXIT[signal]
    controller.abort()
    say('Stopping after the current step. Interrupt again to stop immediately.')
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)

  return {
    /** Aborts when the run should end. */
    signal: controller.signal,
    /** From now on a signal waits for the current step. Before this call, a signal ends the process immediately. */
    finishSteps() {
      finishesSteps = true
    },
    /** Call between two steps. @throws Interrupted if the run should end. */
    async checkpoint() {
      // Lets Node deliver a signal that arrived during a long write.
      await new Promise((resolve) => setImmediate(resolve))
      if (ended !== null) throw new Interrupted(ended)
    },
    /** Tells that a check has found a problem, before it is printed. */
    problemFound() {
      whenReaderGoes = EXIT.found
    },
    /** Ends the run without an error, unless a problem was found: `head` closes the pipe once it has enough lines. */
    readerHasGone() {
      ended ??= whenReaderGoes
      controller.abort()
    },
  }
}
