import { StorageError } from '../../core/errors.js'
import { keyId } from '../../core/names.js'
import { createAttemptId, isAttemptId } from '../../core/store/attempt-id.js'
import * as events from '../../core/store/events.js'
import * as inputs from '../../core/store/inputs/index.js'
import { copyObject } from '../../core/store/records.js'
import { datePosition, endOfDate, SortedMap } from './sorted-map.js'

interface Entry {
  /** Sorts by recording. */
  readonly id: string
  readonly change: events.RecordedChange
  readonly createdAt: Date
  attempts: number
  /** When it can be claimed, unless an older one is there. Under a claim, its end. */
  dueAt: Date
  /** The token of the last claim. `null` if the event was never claimed, or waits for a retry. */
  claim: string | null
  next: Entry | null
}

/** The events of one object, linked from the oldest to the newest. */
interface Queue {
  oldest: Entry
  newest: Entry
}

function copyRecord({ id, change, createdAt }: Entry) {
  const { type, object, previous } = change
  const reason = change.type === 'rejected' ? change.reason : null
  const copy = events.recordedChange(type, copyObject(object), previous && copyObject(previous), reason)
  return Object.assign(copy, { id, createdAt: new Date(createdAt) })
}

function listed(entry: Entry): events.ListedEvent {
  const { attempts, dueAt, claim } = entry
  const claimedUntil = claim === null ? null : new Date(dueAt)
  return Object.assign(copyRecord(entry), { attempts, dueAt: new Date(dueAt), claimedUntil })
}

/** The events that are still to be settled. Only the oldest event of an object can be claimed, so only that one is removed. */
export class EventTable {
  readonly #byId = new SortedMap<Entry>()
  readonly #queues = new Map<string, Queue>()
  /** The oldest event of each object, by when it is due: those that were never claimed, and all others. */
  readonly #due = { first: new SortedMap<Entry>(), again: new SortedMap<Entry>() }

  constructor(readonly isRecording: boolean) {}

  get sizes(): { readonly events: number; readonly objects: number; readonly due: number } {
    return {
      events: this.#byId.size,
      objects: this.#queues.size,
      due: this.#due.first.size + this.#due.again.size,
    }
  }

  /** Records a change that was made at `now`, if events are on. */
  record(change: events.RecordedChange, now: Date): void {
    if (!this.isRecording) return
    const entry: Entry = {
      id: createAttemptId({ now: () => now }),
      change,
      createdAt: now,
      attempts: 0,
      dueAt: now,
      claim: null,
      next: null,
    }
    this.#byId.set(entry.id, entry)
    const queue = this.#queues.get(keyId(change.object))
    if (queue) {
      queue.newest.next = entry
      queue.newest = entry
    } else {
      this.#queues.set(keyId(change.object), { oldest: entry, newest: entry })
      this.#addDue(entry)
    }
  }

  claim(command: inputs.ClaimEventsCommand): events.StoredEvent[] {
    const { reference, attempted, now, until } = command
    const due = reference ? this.#dueOf(keyId(reference), now) : this.#dueBy(command)
    const wanted = due.filter(({ attempts }) => attempted === null || attempts > 0 === attempted)
    return wanted.map((entry) => {
      const claim = createAttemptId({ now: () => now })
      this.#schedule(entry, claim, until, entry.attempts + 1)
      const { attempts, next } = entry
      return Object.assign(copyRecord(entry), { attempts, claim, hasNext: next !== null })
    })
  }

  /** Returns the events whose claim held. */
  settle({ entries }: inputs.SettleEventsCommand): events.SettledEvent[] {
    return this.#forHeld(entries, (entry, { retryAt }) => {
      if (retryAt) this.#schedule(entry, null, retryAt)
      else this.#remove(entry)
      return { id: entry.id, hasNext: entry.next !== null }
    })
  }

  /** Returns the ids whose claim held. */
  extend({ entries, until }: inputs.ExtendClaimsCommand): string[] {
    return this.#forHeld(entries, (entry, { claim }) => {
      this.#schedule(entry, claim, until)
      return entry.id
    })
  }

  page({ limit, after }: inputs.ListEventsQuery): events.EventPage {
    if (after !== null && !isAttemptId(after)) throw new StorageError('INVALID_CURSOR')
    const found = this.#byId.ascending(after, null, limit + 1)
    const items = found.slice(0, limit)
    const last = items.at(-1)
    return { items: items.map(listed), next: last && found.length > limit ? last.id : null }
  }

  count({ now }: inputs.CountEventsQuery): events.EventCounts {
    let waiting = 0
    let claimed = 0
    let retrying = 0
    for (const { attempts, claim, dueAt } of this.#byId.ascending(null, null, Infinity)) {
      if (attempts === 0) waiting++
      else if (claim !== null && dueAt > now) claimed++
      else retrying++
    }
    return { waiting, claimed, retrying }
  }

  #dueBy({ now, limit, attempted, lastScopes }: inputs.ClaimEventsCommand): Entry[] {
    const { first, again } = this.#due
    const maps = attempted === null ? [first, again] : [attempted ? again : first]
    const searched = lastScopes.length > 0 ? Math.max(limit, inputs.CLAIM_LOOKAHEAD) : limit
    const due = maps.flatMap((map) => map.ascending(null, endOfDate(now), searched))
    due.sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime())
    const isLast = ({ change }: Entry) => lastScopes.includes(change.object.scope)
    return [...due.filter((entry) => !isLast(entry)), ...due.filter(isLast)].slice(0, limit)
  }

  #dueOf(name: string, now: Date): Entry[] {
    const oldest = this.#queues.get(name)?.oldest
    return oldest && oldest.dueAt <= now ? [oldest] : []
  }

  /** Acts on each event whose last claim is the given one, and returns the results. */
  #forHeld<Given extends inputs.EventClaim, Result>(
    given: readonly Given[],
    act: (entry: Entry, given: Given) => Result,
  ): Result[] {
    return given.flatMap((one) => {
      const entry = this.#byId.get(one.id)
      return entry?.claim === one.claim ? [act(entry, one)] : []
    })
  }

  /** Sets when the oldest event of an object is due: at the end of a claim, or, without one, for a retry. */
  #schedule(entry: Entry, claim: string | null, until: Date, attempts = entry.attempts): void {
    this.#dueLike(entry).delete(datePosition(entry.dueAt, entry.id))
    Object.assign(entry, { claim, attempts, dueAt: until })
    this.#addDue(entry)
  }

  #addDue(entry: Entry): void {
    this.#dueLike(entry).set(datePosition(entry.dueAt, entry.id), entry)
  }

  #dueLike({ attempts }: Entry): SortedMap<Entry> {
    return attempts === 0 ? this.#due.first : this.#due.again
  }

  #remove(entry: Entry): void {
    this.#byId.delete(entry.id)
    this.#dueLike(entry).delete(datePosition(entry.dueAt, entry.id))
    const name = keyId(entry.change.object)
    const queue = this.#queues.get(name)
    if (queue && entry.next) {
      queue.oldest = entry.next
      this.#addDue(entry.next)
    } else {
      this.#queues.delete(name)
    }
  }
}
