/** A guard or hook. Its result is ignored. */
type Hook<Context> = (context: Context) => unknown

/** Combines hooks or guards into one. They run in order, each awaited; `null` and `undefined` are skipped; the first throw stops the chain. */
export function chainHooks<Context>(
  ...hooks: readonly (Hook<Context> | null | undefined)[]
): (context: Context) => Promise<void> {
  return async (context) => {
    for (const hook of hooks) await hook?.(context)
  }
}
