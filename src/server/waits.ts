/** Lets timers run, and what has arrived from the network. */
export function nextTurn(): Promise<void> {
  // Faster than a timer, but not every runtime has it.
  const { setImmediate: soon = setTimeout } = globalThis as { setImmediate?: (action: () => void) => unknown }
  return new Promise((resolve) => void soon(resolve))
}

/** Starts a timer. One that is `idle` doesn't keep a Node.js process alive. Returns a function that stops it. */
export function startTimer(seconds: number, action: () => void, idle: boolean): () => void {
  const timer: unknown = setTimeout(action, seconds * 1000)
  // Other runtimes return a number.
  if (idle && typeof timer === 'object') (timer as { unref?: () => void } | null)?.unref?.()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}

/** Lets a loop wait for the next thing to do, without missing what happens between two waits. */
export class Wakeup {
  #isCalled = false
  #wake: (() => void) | null = null

  /** Ends the current wait or, if there is none, the next one. */
  readonly call = (): void => {
    this.#isCalled = true
    this.#wake?.()
  }

  reset(): void {
    this.#isCalled = false
  }

  /** Resolves at a call, or after these seconds. `null` waits for a call only. */
  async wait(seconds: number | null): Promise<void> {
    if (this.#isCalled) return
    await new Promise<void>((resolve) => {
      const stop = seconds === null ? null : startTimer(seconds, resolve, false)
      this.#wake = () => {
        stop?.()
        resolve()
      }
    })
    this.#wake = null
  }
}

/** Resolves after these seconds, or when the signal aborts. */
export async function pause(seconds: number, signal: AbortSignal | null): Promise<void> {
  if (signal?.aborted) return
  const wakeup = new Wakeup()
  signal?.addEventListener('abort', wakeup.call)
  await wakeup.wait(seconds)
  signal?.removeEventListener('abort', wakeup.call)
}
