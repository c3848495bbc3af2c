export const EXIT = {
  ok: 0,
  /** A check found problems, `update` or `transfer` found no object, or an item of a job failed. */
  found: 1,
  /** Invalid arguments, or the driver of the database is not installed. */
  usage: 2,
  /** The database or the bucket is unreachable. The same command may succeed later. */
  unreachable: 3,
  /** An unexpected error. */
  failed: 4,
  /** The database can't be used until an operator acts, for example because it was never migrated. */
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
