// Kept from before a test replaces it by a fake one.
const { setTimeout: setRealTimeout } = globalThis

/** Waits until the condition holds. Unlike `expect.poll`, it works in hooks, and a fake clock stands still meanwhile. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setRealTimeout(resolve, 5))
}
