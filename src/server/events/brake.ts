import { keyId } from '../../core/names.js'
import { RecentEntries } from '../../core/recent-entries.js'
import type { StoredEvent } from '../../core/store/events.js'

const MAX_CHANGES = 20
const PERIOD = 60_000
/** A handler that changes its own object comes back to it before it has handled so many others. */
const REMEMBERED_OBJECTS = 1000
/** A change may wait for this many runs before its own event is handled. */
const REMEMBERED_RUNS = 1000

/** A run of the handler for an object, from and to when in milliseconds. */
interface HandlerRun {
  readonly from: number
  readonly to: number
  /** Whether it was called for a change that an earlier run had made. */
  readonly isRepeated: boolean
}

/** A change that was made during a run of the handler. */
interface OwnChange {
  readonly at: number
  /** Whether that run was called for a change of an earlier run, too. */
  readonly isRepeated: boolean
}

interface Handled {
  readonly runs: readonly HandlerRun[]
  readonly changes: readonly OwnChange[]
  /** The time of the change for which the handler was held back last. */
  readonly heldAt: number
  readonly heldUntil: number
}

const NEVER_HANDLED: Handled = { runs: [], changes: [], heldAt: -Infinity, heldUntil: -Infinity }

/**
 * Notices a handler that changes the object of its event: each such change is an event that calls it again, for ever.
 *
 * Other callers change a busy object during runs of the handler, too. The handler feeds itself only if the runs for its own
 * changes make, on average, at least one change each.
 */
export class Brake {
  readonly #objects = new RecentEntries<Handled>(REMEMBERED_OBJECTS)

  /** Returns how many changes the handler made to its object within a minute, if too many to call it now, and otherwise 0. */
  changesBefore(event: StoredEvent, now: Date): number {
    const handled = this.#objects.get(keyId(event.object))
    if (!handled) return 0
    if (now.getTime() < handled.heldUntil) return handled.changes.length
    const at = event.createdAt.getTime()
    const runs = handled.runs.filter(({ to }) => to > at - PERIOD)
    const makers = makersOf(event, runs)
    const isRepeated = makers.some((run) => run.isRepeated)
    const all = makers.length > 0 ? [...handled.changes, { at, isRepeated }] : handled.changes
    const start = Math.max(at - PERIOD, handled.heldAt)
    const changes = all.filter((change) => change.at > start).slice(-REMEMBERED_RUNS)
    const repeated = changes.filter((change) => change.isRepeated).length
    const repeatedRuns = runs.filter((run) => run.isRepeated && run.from > start && run.from <= at).length
    const isTooMany = repeated >= MAX_CHANGES && repeated >= repeatedRuns
    const held = isTooMany && { heldAt: at, heldUntil: now.getTime() + PERIOD }
    this.#objects.set(keyId(event.object), { ...handled, runs, changes, ...held })
    return isTooMany ? changes.length : 0
  }

  ran(event: StoredEvent, from: Date, to: Date): void {
    const name = keyId(event.object)
    const handled = this.#objects.get(name) ?? NEVER_HANDLED
    const { runs } = handled
    const run = { from: from.getTime(), to: to.getTime(), isRepeated: makersOf(event, runs).length > 0 }
    this.#objects.set(name, { ...handled, runs: [...runs.slice(1 - REMEMBERED_RUNS), run] })
  }
}

/** Returns the runs during which the change was made. An event that is retried is not counted again. */
function makersOf({ createdAt, attempts }: StoredEvent, runs: readonly HandlerRun[]): readonly HandlerRun[] {
  const at = createdAt.getTime()
  return attempts === 1 ? runs.filter(({ from, to }) => from <= at && at <= to) : []
}
