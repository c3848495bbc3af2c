/** The ways in which test runners let a running test skip itself. */
interface SkippingContext {
  readonly skip?: unknown
}

function canSkip(context: unknown): context is { skip(reason: string): unknown } {
  return (
    typeof context === 'object' && context !== null && typeof (context as SkippingContext).skip === 'function'
  )
}

/**
 * Marks the running test as skipped. Vitest and `node:test` pass a context to the test, and Mocha binds `this` to one.
 * Other runners report the test as passed, and its reason on the console.
 */
export function skipTest(contexts: readonly unknown[], reason: string): void {
  const context = contexts.find(canSkip)
  if (context) context.skip(reason)
  else console.warn(`Skipped: ${reason}`)
}
