/** Longer than any chain of causes that a driver builds, and a bound for one that contains itself. */
const MAX_CAUSES = 10

/** Yields the causes of an error, the outermost first. */
export function* causesOf(error: unknown): Generator<unknown, void> {
  let thrown = error as Partial<Error> | null | undefined
  for (let depth = 0; depth < MAX_CAUSES; depth++) {
    const cause = thrown?.cause
    if (cause === undefined || cause === null) return
    yield cause
    thrown = cause
  }
}
