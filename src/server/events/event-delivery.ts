import type { ClaimEventsInput, SettleEventInput } from '../../core/store/contract.js'
import type { StoredEvent } from '../../core/store/events.js'
import type { EventHandler, EventStore } from './event-handler.js'
import { retryTime } from './retry-time.js'
import { SettlementQueue } from './settlement-queue.js'
import { startTimer } from './timer.js'

/** How often a claim is extended while it lasts. One extension may fail. */
const EXTENSIONS_PER_CLAIM = 3

/** Gets what a handler throws, with its event, and failures of the store. */
export type ReportDelivery = (error: unknown, event?: StoredEvent) => void

export interface EventDeliveryOptions {
  readonly store: EventStore
  readonly onEvent: EventHandler
  readonly now: () => Date
  /** Seconds that a claim lasts unless it is extended. */
  readonly claimSeconds: number
  readonly report: ReportDelivery
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
      await onEvent(event, { signal: controller.signal })
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

  async #settle(entries: readonly SettleEventInput[]): Promise<readonly string[]> {
    const { store, settleAgain } = this.#options
    for (;;) {
      try {
        return await store.settleEvents(entries)
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
