/** Holds calls where a test wants them. */
export interface Gate {
  /** Resolves when a call has come to this place. */
  readonly reached: Promise<void>
  /** Lets it go on. */
  open(): void
  /** To be awaited by the call. */
  pass(): Promise<void>
}

export function createGate(): Gate {
  let arrive = () => {}
  let open = () => {}
  const reached = new Promise<void>((resolve) => (arrive = resolve))
  const opened = new Promise<void>((resolve) => (open = resolve))
  return {
    reached,
    open,
    pass() {
      arrive()
      return opened
    },
  }
}
