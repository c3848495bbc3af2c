/** How long calls follow each other before the other work of the process gets its turn, in milliseconds. */
const LONGEST_TURN_MILLISECONDS = 20

// One for the process, as the loop is, whatever handles the calls use.
let turnEnds = -Infinity
let nextTurn: Promise<void> | null = null

/** Whether calls have gone on for so long that timers and requests should get their turn. */
export function isTurnOver(): boolean {
  return performance.now() >= turnEnds
}

/**
 * Settles as `result` does, after timers and requests have had their turn. Without this, a loop that awaits nothing but calls would
 * keep them waiting: a promise that is settled already continues before them.
 */
export function afterOtherWork<T>(result: Promise<T>): Promise<T> {
  nextTurn ??= new Promise((resolve) => {
    setImmediate(() => {
      nextTurn = null
      turnEnds = performance.now() + LONGEST_TURN_MILLISECONDS
      resolve()
    })
  })
  const turn = nextTurn
  return result.finally(() => turn)
}
