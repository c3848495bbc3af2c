import type {
  ClaimEventsInput,
  ExtendClaimInput,
  ExtendClaimsOptions,
  ListEventsInput,
  SettleEventInput,
} from '../../../src/core/store/contract.js'
import type {
  EventCounts,
  EventPage,
  ListedEvent,
  RecordedChange,
  StoredEvent,
} from '../../../src/core/store/events.js'
import { badFields } from '../input-checks.js'
import type { Expected } from '../outcome.js'
import { invalid, ok } from '../outcome.js'
import { isClaimOrder, isOf, oldestOfEach, withoutEvent, type ModelEvent } from './event-log.js'
import { TemporaryModel } from './temporary.js'
import { DEFAULT_LIMIT, compare } from './rows.js'
import { isDate } from '../is-date.js'

const DEFAULT_CLAIM_SECONDS = 60

/** What a store chose for a claim. */
interface ChosenClaim {
  readonly event: ModelEvent
  readonly id: string
  readonly claim: string
}

export class EventModel extends TemporaryModel {
  /** The cursors of event lists, and the number of the last event before each. */
  readonly #eventCursors = new Map<string, number>()
  #claims = 0

  claimEvents(input?: ClaimEventsInput): Expected<StoredEvent[]> {
    const now = this.now()
    const bad = badFields('claimEvents', input, now)
    if (bad.length > 0) return invalid(...bad)
    const { bucket, key, attempted, lastScopes } = input ?? {}
    const isLast = ({ change }: ModelEvent) => key == null && (lastScopes ?? []).includes(change.object.scope)
    const until = this.#endOfClaim(input?.claimSeconds)
    const oldest = oldestOfEach(this.events).filter(
      (event) =>
        (bucket == null || key == null || isOf(event, { bucket, key })) &&
        (attempted == null || attempted === event.attempts > 0),
    )
    const claimed = this.#claimed(oldest, input?.limit ?? DEFAULT_LIMIT, isLast).map(
      ({ event, id, claim }) => {
        const attempts = event.attempts + 1
        const next = { ...event, id, hasOwnId: true, attempts, claim, claimedUntil: until }
        this.#replace(event, { ...next, dueFrom: until, dueBy: until })
        const hasNext = this.events.filter((each) => isOf(each, event.change.object)).length > 1
        return { id, ...event.change, createdAt: event.createdAt, attempts, claim, hasNext }
      },
    )
    return ok(claimed)
  }

  settleEvents(entries: readonly SettleEventInput[]): Expected<string[]> {
    const now = this.now()
    const bad = badFields('settleEvents', { entries }, now)
    if (bad.length > 0) return invalid(...bad)
    const held = entries.filter((entry) => this.#held(entry))
    for (const entry of held) {
      const event = this.#held(entry)!
      const { retryAt } = entry
      if (retryAt == null) this.events = withoutEvent(this.events, event, now)
      else
        this.#replace(event, { ...event, claim: null, claimedUntil: null, dueFrom: retryAt, dueBy: retryAt })
    }
    return ok(this.#inChosenOrder(held.map(({ id }) => id)))
  }

  extendClaims(entries: readonly ExtendClaimInput[], options?: ExtendClaimsOptions): Expected<string[]> {
    const bad = badFields('extendClaims', { entries, options }, this.now())
    if (bad.length > 0) return invalid(...bad)
    const until = this.#endOfClaim(options?.claimSeconds)
    const held = entries.filter((entry) => this.#held(entry))
    for (const entry of held) {
      const event = this.#held(entry)!
      this.#replace(event, { ...event, claimedUntil: until, dueFrom: until, dueBy: until })
    }
    return ok(this.#inChosenOrder(held.map(({ id }) => id)))
  }

  listEvents(input?: ListEventsInput): Expected<EventPage> {
    const bad = badFields('listEvents', input, this.now())
    if (bad.length > 0) return invalid(...bad)
    const position = input?.after == null ? 0 : this.#eventCursors.get(input.after)
    if (position === undefined) return { error: 'INVALID_CURSOR' }
    const limit = input?.limit ?? DEFAULT_LIMIT
    const found = this.events.filter(({ number }) => number > position)
    const items = found.slice(0, limit)
    const next = found.length > limit ? `after-event-${items.at(-1)!.number}` : null
    if (next !== null) this.#eventCursors.set(next, items.at(-1)!.number)
    return ok({ items: items.map(listed), next })
  }

  countEvents(): Expected<EventCounts> {
    const claimed = this.events.filter(
      ({ claimedUntil }) => claimedUntil !== null && claimedUntil > this.now(),
    )
    const waiting = this.events.filter(({ attempts }) => attempts === 0)
    const retrying = this.events.length - claimed.length - waiting.length
    return ok({ waiting: waiting.length, claimed: claimed.length, retrying })
  }

  /** Returns all events in the order of the store's list, with its choices of `id` and `dueAt` where they are allowed. */
  eventsAsListed(chosen: readonly ListedEvent[]): ListedEvent[] {
    const rest = new Set(this.events)
    const unknown: ListedEvent[] = []
    const matching = chosen.flatMap((item) => {
      const event = [...rest].find((each) => mayBeListedAs(each, item, this.#waitsUntil(each)))
      if (!event) unknown.push(item)
      if (!event) return []
      rest.delete(event)
      return [{ ...listed(event), id: item.id, dueAt: item.dueAt }]
    })
    // With the ids of the store, so that the failure report shows what else differs.
    const missing = [...rest].map((event, index) => {
      const id = unknown[index]?.id
      return !event.hasOwnId && isToken(id) ? { ...listed(event), id } : listed(event)
    })
    return [...matching, ...missing]
  }

  /** Returns until when an event waits for an older one of its object, as far as is known. `null` if it is the oldest. */
  #waitsUntil(event: ModelEvent): Date | null {
    const oldest = this.events.find((each) => isOf(each, event.change.object))
    if (!oldest || oldest === event) return null
    const now = this.now()
    return oldest.dueBy > now ? oldest.dueBy : now
  }

  /** Claims the events that are due first, those that come last after all others. */
  #claimed(
    oldest: readonly ModelEvent[],
    limit: number,
    isLast: (event: ModelEvent) => boolean,
  ): ChosenClaim[] {
    const chosen = this.#chosenClaims(oldest)
    const others = oldest.filter((event) => !chosen?.some((each) => each.event === event))
    const events = chosen?.map(({ event }) => event) ?? []
    const firstLast = events.findIndex(isLast)
    const [before, after] =
      firstLast === -1 ? [events, []] : [events.slice(0, firstLast), events.slice(firstLast)]
    const isNotLast = (event: ModelEvent) => !isLast(event)
    if (
      chosen &&
      after.every(isLast) &&
      isClaimOrder(before, others.filter(isNotLast), limit, this.now()) &&
      isClaimOrder(after, others.filter(isLast), limit - before.length, this.now())
    ) {
      return chosen
    }
    return oldest
      .filter(({ dueFrom }) => dueFrom <= this.now())
      .sort(
        (a, b) =>
          Number(isLast(a)) - Number(isLast(b)) || compare(a.dueFrom, b.dueFrom) || a.number - b.number,
      )
      .slice(0, limit)
      .map((event) => ({ event, id: event.id, claim: `claim ${++this.#claims}` }))
  }

  /** Returns the store's choice of events, or `null` if it is none that the contract allows. */
  #chosenClaims(oldest: readonly ModelEvent[]): ChosenClaim[] | null {
    if (!Array.isArray(this.chosen)) return null
    const claims: ChosenClaim[] = []
    for (const { id, claim, object } of this.chosen as readonly Partial<StoredEvent>[]) {
      const event = object && oldest.find((each) => isOf(each, object))
      if (!event || !isToken(id) || !isToken(claim) || claim === event.claim) return null
      const isTaken = this.events.some((each) => each.hasOwnId && each.id === id)
      if (event.hasOwnId ? event.id !== id : isTaken) return null
      if (claims.some((other) => other.event === event || other.id === id || other.claim === claim))
        return null
      claims.push({ event, id, claim })
    }
    return claims
  }

  /** Returns the event whose last claim is this one. */
  #held({ id, claim }: ExtendClaimInput): ModelEvent | undefined {
    return this.events.find((event) => event.id === id && event.claim === claim)
  }

  #replace(event: ModelEvent, by: ModelEvent): void {
    this.events = this.events.map((each) => (each === event ? by : each))
  }

  #endOfClaim(claimSeconds: number | null | undefined): Date {
    return new Date(this.now().getTime() + (claimSeconds ?? DEFAULT_CLAIM_SECONDS) * 1000)
  }

  /** Sorts ids as the store returned them, because their order is not specified. */
  #inChosenOrder(ids: readonly string[]): string[] {
    const order: readonly unknown[] = Array.isArray(this.chosen) ? this.chosen : []
    return ids.toSorted((a, b) => order.indexOf(a) - order.indexOf(b))
  }
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && [...value].length <= 100
}

function listed({ id, change, createdAt, attempts, claimedUntil, dueFrom }: ModelEvent): ListedEvent {
  return { id, ...change, createdAt, attempts, dueAt: dueFrom, claimedUntil }
}

/** Returns whether a list may show the event as this item. */
function mayBeListedAs(event: ModelEvent, item: ListedEvent, waitsUntil: Date | null): boolean {
  const { dueFrom, dueBy } = event
  const isDue =
    item.dueAt >= dueFrom && (item.dueAt <= dueBy || (waitsUntil !== null && item.dueAt <= waitsUntil))
  if (event.hasOwnId) return event.id === item.id && isDue
  const { createdAt } = event
  const own = JSON.stringify([...contentOf(event.change), createdAt])
  const shown = JSON.stringify([...contentOf(item), item.createdAt])
  return own === shown && isToken(item.id) && isDue
}

function contentOf(change: RecordedChange): unknown[] {
  const { type, object, previous } = change
  return [type, sorted(object), sorted(previous), ...(change.type === 'rejected' ? [change.reason] : [])]
}

/** Sorts the fields of a row and of its metadata, for a comparison as text. */
function sorted(value: unknown): unknown {
  if (isDate(value) || typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .map(([name, field]) => [name, sorted(field)] as const)
    .sort(([a], [b]) => compare(a, b))
}
