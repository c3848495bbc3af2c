/** The mistake of whoever called the command: says what is wrong, and what to do. */
export class WrongCall extends Error {
  /** What to try, a line each. */
  readonly hints: readonly string[]

  constructor(message: string, ...hints: readonly string[]) {
    super(message)
    this.hints = hints
  }
}
