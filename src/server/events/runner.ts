import { detached } from '../../core/detached.js'
import type { Report } from '../../core/reporter.js'
import type { OwnedReference } from '../../core/store/records.js'
import type { StoredEvent } from '../../core/store/events.js'
import { partsOf } from '../../core/store/store-parts.js'
import { Brake } from './brake.js'
import { EventDelivery, STOP_SECONDS, type DeliveryResult, type EventSource } from './delivery.js'
import { OwnerTurns } from './owner-turns.js'
import { WaitingObjects, type ChangedObject } from './waiting-objects.js'
import { pause, startTimer, Wakeup } from '../waits.js'

/** The operation that errors of delivery are reported under. */
export const OPERATION = 'deliverEvents'

export const DEFAULT_CONCURRENCY = 8

export const DEFAULT_CLAIM_SECONDS = 60

/** Longest pause before events that could not be settled are settled again, in seconds. */
const LONGEST_PAUSE = 5

const EVENTS_OFF =
  'onEvent is never called, because the database records no events. ' +
  'Turn them on with "svc-db migrate --events on", or with the option events of the adapter and migrate().'

type Delivered = Extract<DeliveryResult, { readonly outcome: 'delivered' }>

interface RunOptions {
  readonly concurrency: number
  /** Seconds between two looks for events. `null` ends the run once no event is due. */
  readonly pollSeconds: number | null
  readonly signal: AbortSignal | null
  readonly onResult: (result: DeliveryResult) => void
}

export interface JobRunOptions extends RunOptions {
  readonly claimSeconds: number
  /** `null`: as for the events that changes deliver. */
  readonly handlerSeconds: number | null
}

/** Keeps the runtime from stopping a request's work until the promise has settled. */
export type WaitUntil = (promise: Promise<void>) => unknown

export interface EventRunnerOptions extends Omit<EventSource, 'report' | 'brake'> {
  readonly report: Report
  /** Default: what changes start runs in the process, and requests share it. */
  readonly waitUntil?: WaitUntil | null
}

/** Delivers events: a change starts a run for its object, and a job one for all objects. */
export class EventRunner {
  readonly #source: EventSource
  readonly #waitUntil: WaitUntil | null
  readonly #report: Report
  /** Shared by the runs that changes start, so that their claims are extended and their events settled together. */
  readonly #background: EventDelivery
  readonly #waiting = new WaitingObjects()
  /** The names of the objects whose events are being delivered, and whether they have changed again since the last look. */
  readonly #active = new Map<string, boolean>()
  readonly #runs = new Set<Promise<void>>()
  #isRecordingKnown = false

  constructor({ report, waitUntil = null, ...source }: EventRunnerOptions) {
    const reportDelivery: EventSource['report'] = (error, event) =>
      report(error, { operation: OPERATION, ...(event && { event }) })
    this.#source = { ...source, report: reportDelivery, brake: new Brake() }
    this.#waitUntil = waitUntil
    this.#report = report
    this.#background = this.#newBackground()
  }

  #newBackground(): EventDelivery {
    const { report } = this.#source
    const settleAgain = async (error: unknown) => {
      report(error)
      return false
    }
    return new EventDelivery({
      ...this.#source,
      claimSeconds: DEFAULT_CLAIM_SECONDS,
      settleAgain,
      idle: true,
    })
  }

  /**
   * Delivers the events of a changed object, without waiting. What isn't taken, or fails, is left to a job. With `waitUntil`, each
   * request delivers its own: workers don't let one request wait for another, and may end it at any time.
   */
  changed({ scope, bucket, key }: OwnedReference): void {
    const object = { scope, bucket, key, isServed: false }
    const waitUntil = this.#waitUntil
    if (!waitUntil) return detached(() => this.#share(object))
    const delivery = this.#tracked(this.#deliverAll(this.#newBackground(), object))
    new Promise((resolve) => resolve(waitUntil(delivery))).catch((error: unknown) =>
      this.#report(error, { operation: 'waitUntil' }),
    )
  }

  #share(object: ChangedObject): void {
    const name = JSON.stringify([object.bucket, object.key])
    if (this.#active.has(name)) {
      this.#active.set(name, true)
    } else if (this.#active.size < DEFAULT_CONCURRENCY) {
      void this.#tracked(this.#deliver(name, object))
    } else {
      this.#waiting.add(name, object)
    }
  }

  /** Delivers one event of the object, which then waits for its next turn. */
  async #deliver(name: string, object: ChangedObject): Promise<void> {
    this.#active.set(name, false)
    const result = await this.#deliverOldest(this.#background, object)
    const hasChanged = this.#active.get(name)
    this.#active.delete(name)
    if (result?.hasNext || hasChanged)
      this.#waiting.addAgain(name, { ...object, isServed: object.isServed || result !== null })
    const next = this.#waiting.take()
    if (next) void this.#tracked(this.#deliver(...next))
  }

  /** Delivers the events of one object until none is due. */
  async #deliverAll(delivery: EventDelivery, object: ChangedObject): Promise<void> {
    let result = await this.#deliverOldest(delivery, object)
    while (result?.hasNext) result = await this.#deliverOldest(delivery, { ...object, isServed: true })
  }

  /** Delivers the oldest event of an object, if it is due. Never rejects: failures are reported. Returns `null` if none was delivered. */
  async #deliverOldest(
    delivery: EventDelivery,
    { bucket, key, isServed }: ChangedObject,
  ): Promise<Delivered | null> {
    const started: Promise<Delivered | null>[] = []
    const delivered = (result: DeliveryResult) => (result.outcome === 'delivered' ? result : null)
    // Why an event can't be settled has been reported.
    const follow = (end: Promise<DeliveryResult>) => void started.push(end.then(delivered, () => null))
    try {
      const claimed = await delivery.claim({ bucket, key, limit: 1 }, follow, null)
      if (claimed === 0 && !isServed) await this.#reportIfOff()
    } catch (error) {
      this.#source.report(error)
    }
    const [result = null] = await Promise.all(started)
    return result
  }

  /** Delivers all events until none is due or, with `pollSeconds`, until the signal aborts. Handlers then have 30 seconds. */
  async deliver({ claimSeconds, handlerSeconds, ...options }: JobRunOptions): Promise<void> {
    const { pollSeconds, signal } = options
    const settleAgain = async (error: unknown) => {
      if (pollSeconds === null) return false
      this.#source.report(error)
      if (signal?.aborted) return false
      await pause(Math.min(pollSeconds, LONGEST_PAUSE), signal)
      return true
    }
    const delivery = new EventDelivery({
      ...this.#source,
      ...(handlerSeconds !== null && { handlerSeconds }),
      ...{ claimSeconds, settleAgain, idle: false },
    })
    const onNone = () => this.#reportIfOff()
    const { now, report } = this.#source
    const run = new Run({ ...options, delivery, onNone, now, report })
    let stopTimer = (): void => undefined
    let onAbort = run.wake
    const isOverdue = new Promise<void>((resolve) => {
      onAbort = () => {
        run.wake()
        stopTimer = startTimer(STOP_SECONDS, resolve, false)
      }
    })
    signal?.addEventListener('abort', onAbort)
    try {
      // Not only handlers may hang, but calls of the store, too.
      await Promise.race([this.#tracked(run.run()), isOverdue.then(() => delivery.abandon())])
    } finally {
      stopTimer()
      signal?.removeEventListener('abort', onAbort)
    }
  }

  /** Resolves once nothing is being delivered. */
  async idle(): Promise<void> {
    while (this.#runs.size > 0) await Promise.allSettled(this.#runs)
  }

  async #tracked(run: Promise<void>): Promise<void> {
    this.#runs.add(run)
    try {
      await run
    } finally {
      this.#runs.delete(run)
    }
  }

  /** Asks once whether the database records events, and reports if not. A store that wraps another one can't tell. */
  async #reportIfOff(): Promise<void> {
    const driver = partsOf(this.#source.store)?.driver
    if (this.#isRecordingKnown || !driver) return
    const isOn = await driver.recordsEvents()
    // Concurrent calls may both have asked.
    if (!isOn && !this.#isRecordingKnown) this.#source.report(new Error(EVENTS_OFF))
    this.#isRecordingKnown = true
  }
}

interface RunParts extends RunOptions {
  readonly delivery: EventDelivery
  /** Called if no event is due at first. */
  readonly onNone: () => Promise<void>
  readonly now: () => Date
  readonly report: (error: unknown) => void
}

/** Claims events of all objects as places for their handlers get free. */
class Run {
  readonly #parts: RunParts
  readonly #wakeup = new Wakeup()
  readonly #turns: OwnerTurns
  #active = 0
  #activeRetries = 0
  #areRetriesFirst = true
  #hasLooked = false
  #isEnded = false
  #failure: { readonly error: unknown } | null = null

  readonly wake = this.#wakeup.call

  constructor(parts: RunParts) {
    this.#parts = parts
    this.#turns = new OwnerTurns(parts.concurrency, parts.now)
  }

  async run(): Promise<void> {
    const { signal, concurrency, pollSeconds } = this.#parts
    while (!signal?.aborted && !this.#isEnded) {
      this.#wakeup.reset()
      const free = concurrency - this.#active
      const claimed = free > 0 ? await this.#claim(free) : 0
      // A handler that has ended since then may have made the next event of its object due.
      if (pollSeconds === null && free === concurrency && claimed === 0) break
      // If all places are taken, only a handler that ends makes another claim useful.
      await this.#wakeup.wait(claimed < free ? pollSeconds : null)
    }
    while (this.#active > 0) {
      this.#wakeup.reset()
      await this.#wakeup.wait(null)
    }
    if (this.#failure) throw this.#failure.error
  }

  /** Claims as many events as there are places, and starts their handlers. Returns the number. */
  async #claim(limit: number): Promise<number> {
    const { pollSeconds, onNone, report } = this.#parts
    const lastScopes = this.#turns.next()
    let claimed = 0
    try {
      // First events of other owners go before retries. One call claims them all, because events of one claim are settled together.
      for (const attempted of lastScopes.length > 0 ? [false, true] : this.#kinds()) {
        claimed += await this.#claimKind(attempted, limit - claimed, attempted ? [] : lastScopes)
      }
      if (claimed === 0 && !this.#hasLooked) await onNone()
      this.#hasLooked = true
    } catch (error) {
      if (pollSeconds !== null) report(error)
      this.#fail(error)
    }
    return claimed
  }

  /** The kinds of events, as `attempted` of `claimEvents`. Each comes first every other time, so neither takes all places for long. */
  #kinds(): readonly boolean[] {
    this.#areRetriesFirst = !this.#areRetriesFirst
    return [this.#areRetriesFirst, !this.#areRetriesFirst]
  }

  async #claimKind(attempted: boolean, free: number, lastScopes: readonly string[]): Promise<number> {
    const { delivery, concurrency, signal } = this.#parts
    // Half of the places are for first events, so a receiver that is down delays retries, and not the events of others.
    const forRetries = Math.max(1, Math.floor(concurrency / 2)) - this.#activeRetries
    const limit = attempted ? Math.min(free, forRetries) : free
    if (limit <= 0 || signal?.aborted) return 0
    const follow = (started: Promise<DeliveryResult>, { object }: StoredEvent) => {
      this.#turns.started(object.scope)
      void this.#follow(started, attempted)
    }
    return delivery.claim({ attempted, limit, lastScopes }, follow, signal)
  }

  async #follow(delivery: Promise<DeliveryResult>, isRetry: boolean): Promise<void> {
    this.#active++
    if (isRetry) this.#activeRetries++
    try {
      this.#parts.onResult(await delivery)
    } catch (error) {
      this.#fail(error)
    }
    this.#active--
    if (isRetry) this.#activeRetries--
    this.wake()
  }

  /** The store has failed, which ends the run unless it polls and will try again. */
  #fail(error: unknown): void {
    if (this.#parts.pollSeconds !== null) return
    this.#failure ??= { error }
    this.#isEnded = true
    this.wake()
  }
}
