import { connection, type Connection } from './world.js'

/** Two processes of which one works at a time; whose turn it is, is chosen before every call to storage or store. */
export class Interleaving {
  readonly #waiting: [(() => void)[], (() => void)[]] = [[], []]
  readonly connections: readonly [Connection, Connection] = [this.#connection(0), this.#connection(1)]

  #connection(process: 0 | 1): Connection {
    return connection(async (call) => {
      await new Promise<void>((resolve) => this.#waiting[process].push(resolve))
      return call()
    })
  }

  /** Runs both to their ends. `choose` is asked only where both want to make a call. */
  async run<First, Second>(
    first: Promise<First>,
    second: Promise<Second>,
    choose: () => 0 | 1,
  ): Promise<[First, Second]> {
    const both = Promise.all([first, second])
    let ended = false
    void both.finally(() => (ended = true)).catch(() => undefined)
    for (;;) {
      // Until neither can go on without its turn.
      await new Promise((resolve) => setImmediate(resolve))
      const [one, other] = this.#waiting
      if (ended) return both
      const queue =
        one.length > 0 && other.length > 0 ? this.#waiting[choose()] : one.length > 0 ? one : other
      queue.shift()?.()
    }
  }
}

/** Calls `run` once for every way in which it can choose. Resolves to the number of ways. */
export async function everyWay(run: (choose: () => 0 | 1) => Promise<void>): Promise<number> {
  const toTry: (0 | 1)[][] = [[]]
  for (let ways = 0; ; ways++) {
    const start = toTry.pop()
    if (!start) return ways
    const chosen: (0 | 1)[] = []
    await run(() => {
      const choice = start[chosen.length] ?? 0
      chosen.push(choice)
      return choice
    })
    for (let at = start.length; at < chosen.length; at++) toTry.push([...chosen.slice(0, at), 1])
  }
}
