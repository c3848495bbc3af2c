import { detached } from '../../core/detached.js'
import type { ClaimEventsInput, SettleEventInput, StorageObjectStore } from '../../core/store/contract.js'
import type { SettledEvent, StoredEvent } from '../../core/store/events.js'
import { inFull } from '../../core/store/store-parts.js'
import type { Brake } from './brake.js'
import { HandlerAbortion, type EventContext } from './handler-context.js'
import { SettlementQueue } from './settlement-queue.js'
import { nextTurn, startTimer } from '../waits.js'

/**
 * Handles one event. The event is removed once the handler has returned. If it throws, the event is retried later, and the later
 * events of its object wait. An event can arrive more than once, with the same `id`.
 */
export type EventHandler = (event: StoredEvent, context: EventContext) => unknown

export type EventStore = Pick<StorageObjectStore, 'claimEvents' | 'settleEvents' | 'extendClaims'>

/** How often a claim is extended while it lasts. One extension may fail. */
const EXTENSIONS_PER_CLAIM = 3

export const DEFAULT_HANDLER_SECONDS = 3600

export const DEFAULT_CONCURRENCY = 8

export const DEFAULT_CLAIM_SECONDS = 60

/** A handler that has run for so many seconds is reported. Lost claims are reported at most once in that time. */
const LONG_SECONDS = 600

/** Handlers that need less time to start do so in the same turn of the event loop, so their events are settled together. */
const BLOCKED_MILLISECONDS = 10

/** How many seconds a job waits for its handlers after its signal has aborted. */
export const STOP_SECONDS = 30

/** Gets what a handler throws, with its event, and failures of the store. */
export type ReportDelivery = (error: unknown, event?: StoredEvent) => void

export interface EventSource {
  readonly store: EventStore
  readonly onEvent: EventHandler
  readonly report: ReportDelivery
  readonly now: () => Date
  readonly handlerSeconds: number
  readonly brake: Brake
}

export interface EventDeliveryOptions extends EventSource {
  readonly claimSeconds: number
  /** Called if the store fails to settle events. Resolves to whether to try again. */
  readonly settleAgain: (error: unknown) => Promise<boolean>
  /** Whether waiting for handlers may end a Node.js process. */
  readonly idle: boolean
}

/**
 * The end of one delivery. `failed`: the handler threw or ran for too long, or was not called because it changes its own object, so
 * the event is due again later. `lost`: another caller claimed the event before the handler had ended, or will do so.
 */
export type DeliveryResult =
  | {
      readonly outcome: 'delivered'
      /** Whether another event of the object waits. `true` if the store can't tell. */
      readonly hasNext: boolean
    }
  | { readonly outcome: 'lost' }
  | { readonly outcome: 'failed'; readonly event: StoredEvent; readonly error: unknown }

const LOST = { outcome: 'lost' } as const

/** A claimed event whose handler runs, or is about to. */
interface Running {
  readonly event: StoredEvent
  readonly abortion: HandlerAbortion
  /** Ends the wait for the handler, which may never return. */
  giveUp: (reason: Error) => void
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
  #extension: Promise<void> | null = null
  /** When the claims have to be extended, in milliseconds. A timer is late if a handler blocks the event loop. */
  #extendBy = Infinity
  #losses = 0
  #lossReportedAt = -Infinity

  constructor(options: EventDeliveryOptions) {
    this.#options = options
    this.#settlements = new SettlementQueue((entries) => this.#settle(entries))
  }

  /**
   * Claims events and starts their handlers, and returns their number. `onStart` gets the end of each delivery, which rejects if the
   * event can't be settled. Events whose handlers haven't started when `hasEnded` returns `true` are due again at once.
   */
  async claim(
    input: Omit<ClaimEventsInput, 'claimSeconds'>,
    onStart: (delivery: Promise<DeliveryResult>, event: StoredEvent) => void,
    hasEnded: () => boolean,
  ): Promise<number> {
    const { store, claimSeconds, now } = this.#options
    // A claim starts when it is asked for.
    const start = now().getTime()
    const events = await store.claimEvents({ ...input, claimSeconds })
    const waiting = events.map((event) => this.#add(event, start))
    let turnedAt = now().getTime()
    try {
      for (let running = waiting[0]; running; running = waiting[0]) {
        if (now().getTime() > this.#extendBy) await this.#extend()
        waiting.shift()
        onStart(this.#deliver(running, hasEnded()), running.event)
        // Handlers that block the event loop let timers and responses have their turn in between.
        if (now().getTime() - turnedAt < BLOCKED_MILLISECONDS) continue
        await nextTurn()
        turnedAt = now().getTime()
      }
    } finally {
      for (const running of waiting) this.#remove(running)
    }
    return events.length
  }

  /** Stops waiting for handlers, and reports it with the reason. Their events come back when the claims expire. */
  abandon(reason: string): void {
    const running = [...this.#running.values()].filter(({ isHandled }) => !isHandled)
    if (running.length === 0) return
    const error = new Error(
      `${reason}, while ${running.length} handlers were still running. Their events are delivered again.`,
    )
    this.#options.report(error)
    for (const each of running) {
      this.#lose(each, error)
      each.giveUp(error)
    }
  }

  #add(event: StoredEvent, claimedAt: number): Running {
    // Our own claim of the event had expired.
    const older = this.#running.get(event.id)
    if (older) this.#loseClaim(older)
    const abortion = new HandlerAbortion()
    const running = { event, abortion, giveUp: () => undefined, isHandled: false, isLost: false }
    const extendBy = claimedAt + this.#secondsOfThird * 1000
    this.#extendBy = this.#running.size === 0 ? extendBy : Math.min(this.#extendBy, extendBy)
    this.#running.set(event.id, running)
    this.#extendLater()
    return running
  }

  #remove(running: Running): void {
    if (this.#running.get(running.event.id) === running) this.#running.delete(running.event.id)
    if (this.#running.size === 0) this.#stopExtending()
  }

  async #deliver(running: Running, isOver: boolean): Promise<DeliveryResult> {
    try {
      if (running.isLost) return LOST
      if (!isOver) return await this.#handle(running)
      const { id, claim } = running.event
      await this.#settlements.add({ id, claim, retryAt: this.#options.now() })
      return LOST
    } finally {
      this.#remove(running)
    }
  }

  async #handle(running: Running): Promise<DeliveryResult> {
    const { event } = running
    const { report, now, brake } = this.#options
    const { id, claim, attempts } = event
    const changes = brake.changesBefore(event, now())
    try {
      if (changes > 0) throw selfChangeError(event, changes)
      await this.#call(running)
    } catch (error) {
      running.isHandled = true
      // Whatever a handler throws after its signal has aborted, the reason has been reported.
      if (running.isLost) return LOST
      // An event that waits because of such changes is reported once.
      if (changes === 0 || attempts === 1) report(error, event)
      await this.#settlements.add({ id, claim, retryAt: retryTime(attempts, now()) })
      return { outcome: 'failed', event, error }
    }
    running.isHandled = true
    if (running.isLost) return LOST
    const settled = await this.#settlements.add({ id, claim })
    if (settled) return { outcome: 'delivered', hasNext: settled.hasNext }
    this.#reportLoss()
    return LOST
  }

  /** Calls the handler, and waits until it has ended or is given up. */
  async #call(running: Running): Promise<void> {
    const { event, abortion } = running
    const { onEvent, report, now, brake, handlerSeconds, idle } = this.#options
    const what = () => `The handler of event ${event.id} (${event.type} ${event.object.key})`
    let stopTimer: () => void
    const giveUp = () => {
      const error = new Error(`${what()} did not end within ${handlerSeconds} seconds.`)
      running.giveUp(error)
      abortion.abort(error)
    }
    const tell = () => {
      const end = `After ${handlerSeconds} seconds, its signal aborts and the event counts as failed.`
      stopTimer = startTimer(handlerSeconds - LONG_SECONDS, giveUp, idle)
      report(new Error(`${what()} has been running for ${LONG_SECONDS / 60} minutes. ${end}`), event)
    }
    const isLong = handlerSeconds > LONG_SECONDS
    stopTimer = startTimer(isLong ? LONG_SECONDS : handlerSeconds, isLong ? tell : giveUp, idle)
    const start = now()
    try {
      await new Promise((resolve, reject) => {
        running.giveUp = reject
        Promise.resolve(detached(() => onEvent(event, abortion.context))).then(resolve, reject)
      })
    } finally {
      stopTimer()
      brake.ran(event, start, now())
      // The timer comes too late if handlers that block the event loop end one after the other.
      if (now().getTime() > this.#extendBy) this.#extendNow()
    }
  }

  async #settle(entries: readonly SettleEventInput[]): Promise<ReadonlyMap<string, SettledEvent>> {
    const { settleAgain } = this.#options
    const settled = new Map<string, SettledEvent>()
    for (;;) {
      const left = entries.filter(({ id }) => !settled.has(id))
      try {
        const events = await this.#settleOnce(left)
        for (const event of events) settled.set(event.id, event)
        // Some may be missing because the database failed. The next call finds out.
        if (events.length === 0 || events.length === left.length) return settled
      } catch (error) {
        if (!(await settleAgain(error))) throw error
      }
    }
  }

  /** Settles events. A store whose `settleEvents` the application has wrapped can't tell whether others wait. */
  async #settleOnce(entries: readonly SettleEventInput[]): Promise<readonly SettledEvent[]> {
    const { store } = this.#options
    const settleInFull = inFull(store, 'settleEvents')
    if (settleInFull) return settleInFull(entries)
    return (await store.settleEvents(entries)).map((id) => ({ id, hasNext: true }))
  }

  get #secondsOfThird(): number {
    return this.#options.claimSeconds / EXTENSIONS_PER_CLAIM
  }

  /** Extends all claims after a while, as long as there are any. */
  #extendLater(): void {
    if (this.#extension || this.#running.size === 0) return
    this.#stopTimer ??= startTimer(this.#secondsOfThird, () => this.#extendNow(), this.#options.idle)
  }

  #stopExtending(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
  }

  #extendNow(): void {
    this.#extend().catch((error: unknown) => this.#options.report(error))
  }

  #extend(): Promise<void> {
    this.#stopExtending()
    this.#extension ??= this.#extendAll().finally(() => {
      this.#extension = null
      this.#extendLater()
    })
    return this.#extension
  }

  async #extendAll(): Promise<void> {
    const { store, claimSeconds, now } = this.#options
    this.#extendBy = now().getTime() + this.#secondsOfThird * 1000
    const all = [...this.#running.values()]
    const claims = all.map(({ event: { id, claim } }) => ({ id, claim }))
    const held = new Set(await store.extendClaims(claims, { claimSeconds }))
    for (const running of all) if (!held.has(running.event.id)) this.#loseClaim(running)
  }

  /** Another caller has the event. A handler that has ended is not concerned: its settlement finds out. */
  #loseClaim(running: Running): void {
    if (running.isHandled || running.isLost) return
    const { id } = running.event
    this.#lose(running, new Error(`The claim of event ${id} was lost: another process may be handling it.`))
    this.#reportLoss()
  }

  #lose(running: Running, reason: Error): void {
    running.isLost = true
    if (this.#running.get(running.event.id) === running) this.#running.delete(running.event.id)
    running.abortion.abort(reason)
  }

  #reportLoss(): void {
    const { report, now, claimSeconds } = this.#options
    this.#losses++
    const time = now().getTime()
    if (time - this.#lossReportedAt < LONG_SECONDS * 1000) return
    const error = new Error(
      `Claims of events were lost before their handlers had ended (${this.#losses} since the last report), so other processes ` +
        'deliver these events again. A handler that blocks the event loop causes this, or a database that was away for longer ' +
        `than a claim lasts (${claimSeconds} seconds).`,
    )
    this.#lossReportedAt = time
    this.#losses = 0
    report(error)
  }
}

function selfChangeError({ object }: StoredEvent, changes: number): Error {
  return new Error(
    `The handler changed ${object.key}, the object of its event, ${changes} times within a minute. Each change records another ` +
      'event, which calls the handler again. Mark what the handler has done, and return if the object has the mark.',
  )
}

const FIRST_WAIT = 1000
const LONGEST_WAIT = 60 * 60 * 1000

/** Returns when to try an event again. The wait doubles up to an hour. Half of it is random, to spread what failed together. */
function retryTime(attempts: number, now: Date): Date {
  const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (attempts - 1))
  return new Date(now.getTime() + Math.ceil(wait * (0.5 + Math.random() / 2)))
}
