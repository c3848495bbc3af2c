import { StorageError, type StorageObjectStore } from '@svc/db'
import { asLogged, claimOf, microseconds, type EventLog, type LogLine } from './event-log.js'
import { at, pause, SHARED_KEYS, textOf } from './object-load.js'

export interface ClaimerOptions {
  /** Opens a store of the claimer's own with this clock, so the time of each call is known. */
  readonly open: (now: () => Date) => StorageObjectStore
  readonly log: EventLog
  readonly clock: () => number
  readonly isOver: () => boolean
  /** Called once the claims of a call are in the log. */
  readonly onClaim: () => void
}

/** Highest number of seconds that a claim lasts, by the clock of the stores: if it shall expire, and otherwise. */
const SHORT_CLAIM = 4
const LONG_CLAIM = 60
const MAX_EVENTS = 60
const random = (below: number) => Math.floor(Math.random() * below)
const oneIn = (count: number) => random(count) === 0

/**
 * Claims events and settles them, one call after the other, and logs each. Some claims are extended, some events retried,
 * some claims settled after they have expired, and some never, as if the process had died.
 */
export async function claimAndSettle(options: ClaimerOptions): Promise<void> {
  const { open, log, clock, isOver, onClaim } = options
  let firstTime: number | null = null
  const store = open(() => {
    const time = clock()
    firstTime ??= time
    return new Date(time)
  })

  /** Resolves to `null` if the database failed. The call may or may not have taken effect then. */
  async function attempt<T>(what: string, call: () => Promise<T>): Promise<T | null> {
    firstTime = null
    try {
      return await call()
    } catch (error) {
      if (error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE') {
        log.write({ kind: 'unavailable', text: `${what}: ${textOf(error)}` })
        await pause(5 + random(20))
      } else {
        log.write({ kind: 'fault', text: `${what}: ${textOf(error)}` })
      }
      return null
    }
  }

  while (!isOver()) {
    const calledAt = microseconds()
    const fate = random(12)
    const claimSeconds = fate < 2 ? 1 + random(SHORT_CLAIM) : LONG_CLAIM - random(LONG_CLAIM / 2)
    const reference = oneIn(4) ? at(SHARED_KEYS[random(SHARED_KEYS.length)]!) : {}
    const events = await attempt('claimEvents', () =>
      store.claimEvents({ limit: 1 + random(MAX_EVENTS), claimSeconds, ...reference }),
    )
    if (events === null || events.length === 0) {
      await pause(random(20))
      continue
    }
    const claims = events.map(claimOf)
    const until = firstTime! + claimSeconds * 1000
    log.write({ kind: 'claimed', calledAt, at: microseconds(), from: clock(), until, events })
    onClaim()
    await pause(random(10))

    if (fate === 0) continue
    if (fate === 1) {
      while (clock() <= until) await pause(5)
    } else if (fate < 5) {
      const held = await attempt('extendClaims', () => store.extendClaims(events, { claimSeconds }))
      if (held !== null) {
        const extended = events.filter(({ id }) => held.includes(id)).map(claimOf)
        log.write({ kind: 'extended', claims: extended, until: firstTime! + claimSeconds * 1000 })
      }
      await pause(random(10))
    }

    const entries = events.map(({ id, claim }) => {
      const retryAt = oneIn(10) ? new Date(clock() + random(2000) - 1000) : undefined
      return { id, claim, retryAt }
    })
    log.write({ kind: 'settling', claims, at: microseconds() })
    const ended = await attempt('settleEvents', () => store.settleEvents(entries))
    if (ended === null) continue
    const removed = entries.filter(({ id, retryAt }) => retryAt === undefined && ended.includes(id))
    log.write({ kind: 'settled', claims: removed.map(claimOf), at: microseconds() })
  }
}

/** Delivers what is left and returns the log. Claims of processes that are gone come back when they expire. */
export async function settleTheRest(open: ClaimerOptions['open'], clock: () => number): Promise<LogLine[]> {
  const lines: LogLine[] = []
  const store = open(() => new Date(clock()))
  const claimSeconds = 600
  for (;;) {
    const calledAt = microseconds()
    const calledFrom = clock()
    const events = asLogged(await store.claimEvents({ limit: 1000, claimSeconds }))
    if (events.length === 0) {
      const { waiting, claimed, retrying } = await store.countEvents()
      if (waiting + claimed + retrying === 0) return lines
      await pause(20)
      continue
    }
    const from = clock()
    const until = calledFrom + claimSeconds * 1000
    const claims = events.map(claimOf)
    lines.push({ kind: 'claimed', calledAt, at: microseconds(), from, until, events })
    lines.push({ kind: 'settling', claims, at: microseconds() })
    const removed = new Set(await store.settleEvents(events))
    const settled = events.filter(({ id }) => removed.has(id)).map(claimOf)
    lines.push({ kind: 'settled', claims: settled, at: microseconds() })
  }
}
