import { detached } from '../../core/detached.js'
import type { ClaimEventsInput, SettleEventInput, StorageObjectStore } from '../../core/store/contract.js'
import type { StoredEvent } from '../../core/store/events.js'

/** What an event handler gets besides the event. */
export interface EventContext {
  /** Aborts when the claim is lost: another process may be handling the event by then. */
  readonly signal: AbortSignal
}

/**
 * Handles one event. The event is removed once the handler has returned. If it throws, the event is retried later, and the later
 * events of its object wait. An event can arrive more than once, with the same `id`.
 */
export type EventHandler = (event: StoredEvent, context: EventContext) => unknown

/** The methods of a store that deliver events. */
export type EventStore = Pick<StorageObjectStore, 'claimEvents' | 'settleEvents' | 'extendClaims'>

/** How often a claim is extended while it lasts. One extension may fail. */
const EXTENSIONS_PER_CLAIM = 3

/** Gets what a handler throws, with its event, and failures of the store. */
export type ReportDelivery = (error: unknown, event?: StoredEvent) => void

/** Where events come from, and who handles them. */
export interface EventSource {
  readonly store: EventStore
  readonly onEvent: EventHandler
  readonly report: ReportDelivery
  readonly now: () => Date
}

export interface EventDeliveryOptions extends EventSource {
  /** Seconds that a claim lasts unless it is extended. */
  readonly claimSeconds: number
  /** Called if the store fails to settle events. Resolves to whether to try again. */
  readonly settleAgain: (error: unknown) => Promise<boolean>
  /** Whether waiting for handlers may end a Node.js process. */
  readonly idle: boolean
}

/**
 * The end of one delivery. `delivered`: the handler returned and the claim still held. `failed`: it threw, so the event is due
 * again later. `lost`: another caller claimed the event before it returned, or before it was called.
 */
export type DeliveryResult =
  | { readonly outcome: 'delivered' }
  | { readonly outcome: 'lost' }
  | { readonly outcome: 'failed'; readonly event: StoredEvent; readonly error: unknown }

const LOST = { outcome: 'lost' } as const

/** A claimed event whose handler runs. */
interface Running {
  readonly event: StoredEvent
  readonly controller: AbortController
  isHandled: boolean
  isLost: boolean
}

/** Claims events, runs the handler for each, extends the claims meanwhile and settles the events. */
export class EventDelivery {
  readonly #options: EventDeliveryOptions
  /** The events whose claims are ours, by id. */
  readonly #running = new Map<string, Running>()
  readonly #settlements: SettlementQueue
  #stopTimer: (() => void) | null = null
  #isExtending = false

  constructor(options: EventDeliveryOptions) {
    this.#options = options
    this.#settlements = new SettlementQueue((entries) => this.#settle(entries))
  }

  /**
   * Claims events and starts their handlers. Returns the end of each delivery, which rejects if the event can't be settled. It
   * then comes back when its claim expires.
   */
  async claim(input: Pick<ClaimEventsInput, 'limit' | 'bucket' | 'key'>): Promise<Promise<DeliveryResult>[]> {
    const { store, claimSeconds, now } = this.#options
    const start = now().getTime()
    const events = await store.claimEvents({ ...input, claimSeconds })
    const seconds = (now().getTime() - start) / 1000
    // A claim starts when it is asked for. After a slow answer, the first extension could be too late.
    const isSlow = seconds > claimSeconds / EXTENSIONS_PER_CLAIM
    const held = isSlow ? await this.#extendClaims(events) : new Set(events.map(({ id }) => id))
    return events.map((event) => (held.has(event.id) ? this.#deliver(event) : Promise.resolve(LOST)))
  }

  async #deliver(event: StoredEvent): Promise<DeliveryResult> {
    const running: Running = { event, controller: new AbortController(), isHandled: false, isLost: false }
    // Our own claim of the event had expired.
    this.#lose(this.#running.get(event.id))
    this.#running.set(event.id, running)
    this.#extendLater()
    try {
      return await this.#handle(running)
    } finally {
      if (this.#running.get(event.id) === running) this.#running.delete(event.id)
      if (this.#running.size === 0) this.#stopExtending()
    }
  }

  async #handle(running: Running): Promise<DeliveryResult> {
    const { event, controller } = running
    const { onEvent, report, now } = this.#options
    const { id, claim, attempts } = event
    try {
      await detached(() => onEvent(event, { signal: controller.signal }))
    } catch (error) {
      running.isHandled = true
      report(error, event)
      if (!running.isLost) await this.#settlements.add({ id, claim, retryAt: retryTime(attempts, now()) })
      return { outcome: 'failed', event, error }
    }
    running.isHandled = true
    const held = !running.isLost && (await this.#settlements.add({ id, claim }))
    return { outcome: held ? 'delivered' : 'lost' }
  }

  async #settle(entries: readonly SettleEventInput[]): Promise<ReadonlySet<string>> {
    const { store, settleAgain } = this.#options
    const settled = new Set<string>()
    for (;;) {
      const left = entries.filter(({ id }) => !settled.has(id))
      try {
        const ids = await store.settleEvents(left)
        for (const id of ids) settled.add(id)
        // Some may be missing because the database failed. The next call finds out.
        if (ids.length === 0 || ids.length === left.length) return settled
      } catch (error) {
        if (!(await settleAgain(error))) throw error
      }
    }
  }

  /** Extends all claims after a while, as long as there are any. */
  #extendLater(): void {
    if (this.#isExtending) return
    const { claimSeconds, idle } = this.#options
    this.#stopTimer ??= startTimer(claimSeconds / EXTENSIONS_PER_CLAIM, () => void this.#extend(), idle)
  }

  #stopExtending(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
  }

  async #extend(): Promise<void> {
    const all = [...this.#running.values()]
    this.#stopTimer = null
    this.#isExtending = true
    try {
      const held = await this.#extendClaims(all.map(({ event }) => event))
      for (const running of all) if (!held.has(running.event.id)) this.#lose(running)
    } catch (error) {
      this.#options.report(error)
    }
    this.#isExtending = false
    if (this.#running.size > 0) this.#extendLater()
  }

  /** Extends the claims of these events, and returns the ids of those that still hold. */
  async #extendClaims(events: readonly StoredEvent[]): Promise<ReadonlySet<string>> {
    const { store, claimSeconds } = this.#options
    const claims = events.map(({ id, claim }) => ({ id, claim }))
    return new Set(await store.extendClaims(claims, { claimSeconds }))
  }

  /** Another caller has the event. A handler that has ended is not concerned: its settlement finds out. */
  #lose(running: Running | undefined): void {
    if (!running || running.isHandled || running.isLost) return
    const { event, controller } = running
    running.isLost = true
    if (this.#running.get(event.id) === running) this.#running.delete(event.id)
    controller.abort(
      new Error(`The claim of event ${event.id} was lost: another process may be handling it.`),
    )
  }
}

const FIRST_WAIT = 1000
const LONGEST_WAIT = 60 * 60 * 1000

/**
 * Returns when to try an event again after this many attempts. The wait doubles up to an hour. Half of it is random, so events
 * that failed together are not all retried together.
 */
function retryTime(attempts: number, now: Date): Date {
  const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1))
  return new Date(now.getTime() + Math.ceil(wait * (0.5 + Math.random() / 2)))
}

/** The most entries that one call of `settleEvents` takes. */
const MAX_ENTRIES = 1000

interface Waiting {
  readonly entry: SettleEventInput
  readonly resolve: (held: boolean) => void
  readonly reject: (error: unknown) => void
}

/** Settles events together: those whose handlers end at once, and those that end while a call is in flight. */
class SettlementQueue {
  readonly #settle: (entries: readonly SettleEventInput[]) => Promise<ReadonlySet<string>>
  readonly #waiting = new Map<string, Waiting>()
  #isSettling = false

  constructor(settle: (entries: readonly SettleEventInput[]) => Promise<ReadonlySet<string>>) {
    this.#settle = settle
  }

  /** Settles one event. Resolves to whether its claim still held. */
  add(entry: SettleEventInput): Promise<boolean> {
    return new Promise((resolve, reject) => {
      // Only a newer claim of the same event comes here twice.
      this.#waiting.get(entry.id)?.resolve(false)
      this.#waiting.set(entry.id, { entry, resolve, reject })
      if (!this.#isSettling) void this.#settleAll()
    })
  }

  async #settleAll(): Promise<void> {
    this.#isSettling = true
    // Handlers that ended in the same step join the first call.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const batch = [...this.#waiting.values()].slice(0, MAX_ENTRIES)
      for (const { entry } of batch) this.#waiting.delete(entry.id)
      await this.#settleBatch(batch)
    }
    this.#isSettling = false
  }

  async #settleBatch(batch: readonly Waiting[]): Promise<void> {
    try {
      const held = await this.#settle(batch.map(({ entry }) => entry))
      for (const { entry, resolve } of batch) resolve(held.has(entry.id))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
}

/** Starts a timer. One that is `idle` doesn't keep a Node.js process alive. Returns a function that stops it. */
export function startTimer(seconds: number, action: () => void, idle: boolean): () => void {
  const timer: unknown = setTimeout(action, seconds * 1000)
  // Other runtimes return a number.
  if (idle && typeof timer === 'object') (timer as { unref?: () => void } | null)?.unref?.()
  return () => clearTimeout(timer as ReturnType<typeof setTimeout>)
}
