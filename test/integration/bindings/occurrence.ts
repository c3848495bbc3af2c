import { setImmediate as nextTurn } from 'node:timers/promises'

/** Something that a test waits for. */
export interface Occurrence<T> {
  readonly happened: Promise<T>
  happen(this: void, value: T): void
}

export function occurrence<T = void>(): Occurrence<T> {
  let happen!: (value: T) => void
  const happened = new Promise<T>((resolve) => (happen = resolve))
  return { happened, happen }
}

/** Lets the process go on until the condition holds; the test's time limit ends it otherwise. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn()
}
