/** A guard or a hook: gets one context; what it resolves to is ignored. */
type Hook<Context> = (context: Context) => unknown

/** One hook of several: runs them in order, each awaited, skips what is left out, and stops at the first throw. */
export function chainHooks<Context>(
  ...hooks: readonly (Hook<Context> | null | undefined)[]
): (context: Context) => Promise<void> {
  return async (context) => {
    for (const hook of hooks) await hook?.(context)
  }
}
