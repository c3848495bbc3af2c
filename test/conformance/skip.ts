interface SkippingContext {
  skip(reason: string): unknown
}

function canSkip(context: unknown): context is SkippingContext {
  // Vitest's context is a function with properties.
  const hasFields = typeof context === 'function' || (typeof context === 'object' && context !== null)
  return hasFields && typeof (context as Partial<SkippingContext>).skip === 'function'
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
