import type { Tab } from './engine.js'

/** What a page keeps of the calls of `evaluate`: `null` while one is running. */
type Calls = Record<number, { readonly value?: unknown; readonly error?: string } | null>

const POLL_INTERVAL = 20

let lastCall = 0

/**
 * Returns an `evaluate` for a driver that runs an expression and returns its value at once. Drivers that wait for a promise run nothing
 * else meanwhile, or never tell that its page was left.
 */
export function polledEvaluate(run: (expression: string) => Promise<unknown>): Tab['evaluate'] {
  return async <Result>(call: unknown, argument?: unknown): Promise<Result> => {
    const id = ++lastCall
    await run(`void (() => {
      const calls = (window.testCalls ??= {})
      calls[${id}] = null
      new Promise((resolve) => resolve((${String(call)})(${JSON.stringify(argument)}))).then(
        (value) => (calls[${id}] = { value }),
        (error) => (calls[${id}] = { error: String((error && error.stack) || error) }),
      )
    })()`)
    for (;;) {
      const calls = (await run('window.testCalls')) as Calls | null | undefined
      const result = calls?.[id]
      if (result === undefined) throw new Error('The page was left before the call had a result.')
      if (result?.error) throw new Error(result.error)
      if (result) return result.value as Result
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL))
    }
  }
}
