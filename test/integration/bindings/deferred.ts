import { setImmediate as nextTick } from 'node:timers/promises'

/** A promise with its `resolve` function. */
export interface Deferred<T> {
  readonly promise: Promise<T>
  resolve(this: void, value: T): void
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void
  const promise = new Promise<T>((resolvePromise) => (resolve = resolvePromise))
  return { promise, resolve }
}

/** Waits until the condition holds. Otherwise the test times out. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTick()
}
