/** What the command's exit code tells the program that called it. */
export const EXIT = {
  ok: 0,
  /** `verify` or `check-usage` found something. */
  found: 1,
  /** The call itself is wrong, or this installation lacks what it needs. */
  wrongCall: 2,
  /** The database can't be reached, or can't serve as it is. */
  unreachable: 3,
  /** Anything else: a mistake of this program. */
  failed: 4,
  /** As shells have it: 128 and the number of the signal. */
  SIGINT: 130,
  SIGTERM: 143,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
