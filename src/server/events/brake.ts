import { keyId } from '../../core/names.js'
import { RecentEntries } from '../../core/recent-entries.js'
import type { StoredEvent } from '../../core/store/events.js'

const MAX_CHANGES = 20
const PERIOD = 60_000
/** A handler that changes its own object comes back to it before it has handled so many others. */
const REMEMBERED_OBJECTS = 1000

/** The last run of the handler for an object, and when changes were made during such runs. Times are in milliseconds. */
interface Handled {
  readonly from: number
  readonly to: number
  readonly changes: readonly number[]
}

/** Notices a handler that changes the object of its event: each such change is an event that calls it again, for ever. */
export class Brake {
  readonly #objects = new RecentEntries<Handled>(REMEMBERED_OBJECTS)

  /** Returns how many changes the handler made to its object within a minute, if too many to call it now, and otherwise 0. */
  changesBefore({ object, createdAt, attempts }: StoredEvent, now: Date): number {
    const handled = this.#objects.get(keyId(object))
    if (!handled) return 0
    const [at, since] = [createdAt.getTime(), now.getTime() - PERIOD]
    const isOwn = attempts === 1 && handled.from <= at && at <= handled.to
    const changes = [...handled.changes, ...(isOwn ? [at] : [])].filter((time) => time > since)
    this.#objects.set(keyId(object), { ...handled, changes })
    return changes.length > MAX_CHANGES ? changes.length : 0
  }

  ran({ object }: StoredEvent, from: Date, to: Date): void {
    const name = keyId(object)
    const changes = this.#objects.get(name)?.changes ?? []
    this.#objects.set(name, { from: from.getTime(), to: to.getTime(), changes })
  }
}
