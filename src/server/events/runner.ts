import { detached } from '../../core/detached.js'
import type { Report } from '../../core/reporter.js'
import type { ObjectReference, OwnedReference } from '../../core/store/records.js'
import { partsOf } from '../../core/store/store-parts.js'
import { Brake } from './brake.js'
import { EventDelivery, STOP_SECONDS, type DeliveryResult, type EventSource } from './delivery.js'
import { WaitingObjects } from './waiting-objects.js'
import { pause, startTimer, Wakeup } from './waits.js'

/** The operation that errors of delivery are reported under. */
export const OPERATION = 'deliverEvents'

export const DEFAULT_CONCURRENCY = 8

export const DEFAULT_CLAIM_SECONDS = 60

/** Longest pause before events that could not be settled are settled again, in seconds. */
const LONGEST_PAUSE = 5

const EVENTS_OFF =
  'onEvent is never called, because the database records no events. ' +
  'Turn them on with "svc-db migrate --events on", or with the option events of the adapter and migrate().'

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
  changed(object: OwnedReference): void {
    const { bucket, key } = object
    const waitUntil = this.#waitUntil
    if (!waitUntil) return detached(() => this.#share(object))
    const delivery = this.#tracked(this.#deliverObject(this.#newBackground(), { bucket, key }))
    new Promise((resolve) => resolve(waitUntil(delivery))).catch((error: unknown) =>
      this.#report(error, { operation: 'waitUntil' }),
    )
  }

  #share(object: OwnedReference): void {
    const { bucket, key } = object
    const name = JSON.stringify([bucket, key])
    if (this.#active.has(name)) {
      this.#active.set(name, true)
    } else if (this.#active.size < DEFAULT_CONCURRENCY) {
      void this.#tracked(this.#deliver(name, { bucket, key }))
    } else {
      this.#waiting.add(name, object)
    }
  }

  async #deliver(name: string, object: ObjectReference): Promise<void> {
    do {
      this.#active.set(name, false)
      await this.#deliverObject(this.#background, object)
    } while (this.#active.get(name))
    this.#active.delete(name)
    const next = this.#waiting.take()
    if (next) void this.#tracked(this.#deliver(...next))
  }

  /** Delivers the events of one object until none is due. Never rejects: failures are reported. */
  #deliverObject(delivery: EventDelivery, object: ObjectReference): Promise<void> {
    const options = { concurrency: 1, pollSeconds: null, signal: null, onResult: () => undefined }
    return this.#newRun(delivery, options, object)
      .run()
      .catch(() => undefined)
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
    const run = this.#newRun(delivery, options, null)
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

  #newRun(delivery: EventDelivery, options: RunOptions, object: ObjectReference | null): Run {
    const onNone = () => this.#reportIfOff()
    return new Run({ ...options, delivery, object, onNone, report: this.#source.report })
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
  /** The object that a change concerns, or `null` for a job. */
  readonly object: ObjectReference | null
  /** Called if no event is due at first. */
  readonly onNone: () => Promise<void>
  readonly report: (error: unknown) => void
}

/** Claims events as places for their handlers get free. */
class Run {
  readonly #parts: RunParts
  readonly #wakeup = new Wakeup()
  #active = 0
  #activeRetries = 0
  #areRetriesFirst = true
  #hasLooked = false
  #isEnded = false
  #failure: { readonly error: unknown } | null = null

  readonly wake = this.#wakeup.call

  constructor(parts: RunParts) {
    this.#parts = parts
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
    const { object, pollSeconds, onNone, report } = this.#parts
    let claimed = 0
    try {
      for (const attempted of object ? [null] : this.#kinds()) {
        claimed += await this.#claimKind(attempted, limit - claimed)
      }
      if (claimed === 0 && !this.#hasLooked) await onNone()
      this.#hasLooked = true
    } catch (error) {
      if (object || pollSeconds !== null) report(error)
      this.#fail(error)
    }
    return claimed
  }

  /** The kinds of events, as `attempted` of `claimEvents`. Each comes first every other time, so neither takes all places for long. */
  #kinds(): readonly boolean[] {
    this.#areRetriesFirst = !this.#areRetriesFirst
    return [this.#areRetriesFirst, !this.#areRetriesFirst]
  }

  async #claimKind(attempted: boolean | null, free: number): Promise<number> {
    const { delivery, object, concurrency, signal } = this.#parts
    // Half of the places are for first events, so a receiver that is down delays retries, and not the events of others.
    const forRetries = Math.max(1, Math.floor(concurrency / 2)) - this.#activeRetries
    const limit = attempted ? Math.min(free, forRetries) : free
    if (limit <= 0 || signal?.aborted) return 0
    const follow = (started: Promise<DeliveryResult>) => void this.#follow(started, attempted ?? false)
    return delivery.claim({ ...object, attempted, limit }, follow, signal)
  }

  async #follow(delivery: Promise<DeliveryResult>, isRetry: boolean): Promise<void> {
    this.#active++
    if (isRetry) this.#activeRetries++
    try {
      const result = await delivery
      this.#parts.onResult(result)
      // The later events of the object wait for this one.
      if (this.#parts.object && result.outcome !== 'delivered') this.#isEnded = true
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
