import { connection, type CallKind, type Connection } from './world.js'

interface WaitingCall {
  readonly kind: CallKind
  /** Lets it happen; resolves once it has. */
  readonly happen: () => Promise<unknown>
}

/**
 * Two processes of which one works at a time; whose turn it is, is chosen before every call to storage or store. Of ways
 * that differ only in the order of calls which can't tell it, one is gone: where the second process was let go ahead of a
 * call of the first, that call waits until the second has made one which makes a difference to it.
 */
export class Interleaving {
  readonly #waiting: [WaitingCall[], WaitingCall[]] = [[], []]
  readonly connections: readonly [Connection, Connection] = [this.#connection(0), this.#connection(1)]

  #connection(process: 0 | 1): Connection {
    return connection(
      (call, kind) =>
        new Promise((resolve, reject) => {
          const happen = () => call().then(resolve, reject)
          this.#waiting[process].push({ kind, happen })
        }),
    )
  }

  /** Runs both to their ends. `choose` is asked only where both want to make a call. */
  async run<First, Second>(
    first: Promise<First>,
    second: Promise<Second>,
    choose: () => 0 | 1,
  ): Promise<[First, Second]> {
    const both = Promise.all([first, second])
    let ended = false
    let passedOver = false
    void both.finally(() => (ended = true)).catch(() => undefined)
    for (;;) {
      // Until neither can go on without its turn.
      await new Promise((resolve) => setImmediate(resolve))
      if (ended) return both
      const [one, other] = this.#waiting
      const free: 0 | 1 = one.length > 0 && !(passedOver && other.length > 0) ? 0 : 1
      const turn: 0 | 1 = free === 0 && other.length > 0 ? choose() : free
      const call = this.#waiting[turn].shift()
      passedOver = turn === 1 && one.length > 0 && one.every(({ kind }) => commute(kind, call?.kind ?? kind))
      await call?.happen()
    }
  }
}

/** Whether nobody can tell which of two calls came first. */
function commute(one: CallKind, other: CallKind): boolean {
  return one.system !== other.system || (one.reads && other.reads)
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
