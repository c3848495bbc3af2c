/** Whether a call failed because nothing is at its path. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** Whether a call failed because something is at its path already. */
export function isTaken(error: unknown): boolean {
  return codeOf(error) === 'EEXIST'
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
