export const EXIT = {
  ok: 0,
  /** `verify` or `check-usage` found problems, or `update` or `transfer` found no object. */
  found: 1,
  /** Invalid arguments, or the driver of the database is not installed. */
  usage: 2,
  /** The database is unreachable. The same command may succeed later. */
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
