import { interceptCalls, type CallKind, type Connection } from './world.js'

interface WaitingCall {
  readonly kind: CallKind
  /** Makes the call. Resolves when it has completed. */
  readonly proceed: () => Promise<unknown>
}

/**
 * Runs two processes one call at a time. Before every call to the storage or the store, it chooses which process continues.
 * Schedules that differ only in the order of independent calls are equivalent, and only one of them runs: after the second
 * process overtakes a pending call of the first, that call waits until the second makes a call that it depends on.
 */
export class Interleaving {
  readonly #waiting: [WaitingCall[], WaitingCall[]] = [[], []]
  readonly connections: readonly [Connection, Connection] = [this.#connection(0), this.#connection(1)]

  #connection(process: 0 | 1): Connection {
    return interceptCalls(
      (call, kind) =>
        new Promise((resolve, reject) => {
          const proceed = () => call().then(resolve, reject)
          this.#waiting[process].push({ kind, proceed })
        }),
    )
  }

  /** Runs both to completion. Calls `choose` only when both have a pending call. */
  async run<First, Second>(
    first: Promise<First>,
    second: Promise<Second>,
    choose: () => 0 | 1,
  ): Promise<[First, Second]> {
    const both = Promise.all([first, second])
    let ended = false
    let overtaken = false
    void both.finally(() => (ended = true)).catch(() => undefined)
    for (;;) {
      // Wait until both processes are blocked on a call.
      await new Promise((resolve) => setImmediate(resolve))
      if (ended) return both
      const [one, other] = this.#waiting
      const runnable: 0 | 1 = one.length > 0 && !(overtaken && other.length > 0) ? 0 : 1
      const next: 0 | 1 = runnable === 0 && other.length > 0 ? choose() : runnable
      const call = this.#waiting[next].shift()
      overtaken =
        next === 1 && one.length > 0 && one.every(({ kind }) => areIndependent(kind, call?.kind ?? kind))
      await call?.proceed()
    }
  }
}

/** Returns whether the order of two calls makes no difference. */
function areIndependent(one: CallKind, other: CallKind): boolean {
  return one.system !== other.system || (one.reads && other.reads)
}

/** How many of the possible sequences run. Default: all. */
export interface Extent {
  readonly maxSwitches?: number
  readonly step?: number
}

/**
 * Calls `run` once for every sequence of choices that changes between the processes at most `maxSwitches` times, or for every n-th
 * call at which it can change, with a `step` of n. Returns the number of sequences. Few changes are enough to show most races.
 */
export async function forEverySchedule(
  run: (choose: () => 0 | 1) => Promise<void>,
  { maxSwitches = Infinity, step = 1 }: Extent = {},
): Promise<number> {
  const pending: (0 | 1)[][] = [[], [1]]
  for (let count = 0; ; count++) {
    const prefix = pending.pop()
    if (!prefix) return count
    const chosen: (0 | 1)[] = []
    await run(() => {
      const choice = prefix[chosen.length] ?? chosen.at(-1) ?? 0
      chosen.push(choice)
      return choice
    })
    const switches = prefix.filter((choice, at) => at > 0 && choice !== prefix[at - 1]).length
    if (switches >= maxSwitches) continue
    for (let at = Math.max(1, prefix.length); at < chosen.length; at += step) {
      pending.push([...chosen.slice(0, at), chosen[at] === 0 ? 1 : 0])
    }
  }
}

/** Calls `run` this often, for operations with too many schedules to run all. The choices are the same in every test run. */
export async function forSomeSchedules(
  count: number,
  run: (choose: () => 0 | 1) => Promise<void>,
): Promise<void> {
  let state = 1
  // The generator of Park and Miller.
  const random = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
  for (let index = 0; index < count; index++) {
    // From runs of the first process alone to runs of the second one alone.
    const share = random()
    await run(() => (random() < share ? 1 : 0))
  }
}
