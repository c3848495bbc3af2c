import type { Report } from '../../core/reporter.js'
import type { OwnedReference } from '../../core/store/records.js'
import type { StoredEvent } from '../../core/store/events.js'
import { BackgroundDelivery, type WaitUntil } from './background.js'
import { Brake } from './brake.js'
import { EventDelivery, STOP_SECONDS, type DeliveryResult, type EventSource } from './delivery.js'
import { OwnerTurns } from './owner-turns.js'
import { RecordingCheck } from './recording-check.js'
import { pause, startTimer, Wakeup } from '../waits.js'

/** The operation that errors of delivery are reported under. */
export const OPERATION = 'deliverEvents'

/** Longest pause before events that could not be settled are settled again, in seconds. */
const LONGEST_PAUSE = 5

/** Milliseconds after a look that found no retry, in which first events go before retries. */
const WITHOUT_RETRIES = 100

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

export interface EventRunnerOptions extends Omit<EventSource, 'report' | 'brake'> {
  readonly report: Report
  /** Default: what changes start runs in the process, and requests share it. */
  readonly waitUntil?: WaitUntil | null
}

/** Delivers events: a change starts a run for its object, and a job one for all objects. */
export class EventRunner {
  readonly #source: EventSource
  readonly #recording: RecordingCheck
  readonly #background: BackgroundDelivery

  constructor({ report, waitUntil = null, ...source }: EventRunnerOptions) {
    const reportDelivery: EventSource['report'] = (error, event) =>
      report(error, { operation: OPERATION, ...(event && { event }) })
    this.#source = { ...source, report: reportDelivery, brake: new Brake() }
    this.#recording = new RecordingCheck(this.#source)
    this.#background = new BackgroundDelivery({
      ...this.#source,
      waitUntil,
      recording: this.#recording,
      reportWaitUntil: (error) => report(error, { operation: 'waitUntil' }),
    })
  }

  /** Delivers the events of a changed object, without waiting. What isn't taken, or fails, is left to a job. */
  changed(object: OwnedReference): void {
    this.#background.changed(object)
  }

  /** Ends what changes have started. @see BackgroundDelivery.close */
  close(timeoutSeconds: number): Promise<void> {
    return this.#background.close(timeoutSeconds)
  }

  /** Resolves once nothing that a change has started is being delivered. */
  idle(): Promise<void> {
    return this.#background.idle()
  }

  /** Delivers all events until none is due or, with `pollSeconds`, until the signal aborts. Handlers then have 30 seconds. */
  async deliver({ claimSeconds, handlerSeconds, ...options }: JobRunOptions): Promise<void> {
    const { pollSeconds, signal } = options
    const { now, report } = this.#source
    const outage = new Outage(report)
    const settleAgain = async (error: unknown) => {
      if (pollSeconds === null) return false
      outage.failed(error)
      if (signal?.aborted) return false
      await pause(Math.min(pollSeconds, LONGEST_PAUSE), signal)
      return true
    }
    const delivery = new EventDelivery({
      ...this.#source,
      ...(handlerSeconds !== null && { handlerSeconds }),
      ...{ claimSeconds, settleAgain, idle: false },
    })
    const onNone = () => this.#recording.reportIfOff()
    const run = new Run({ ...options, delivery, onNone, now, outage })
    let stopTimer = (): void => undefined
    let onAbort = run.wake
    const isOverdue = new Promise<void>((resolve) => {
      onAbort = () => {
        run.wake()
        stopTimer = startTimer(STOP_SECONDS, resolve, false)
      }
    })
    signal?.addEventListener('abort', onAbort)
    const abandon = () => delivery.abandon(`The job ended ${STOP_SECONDS} seconds after its signal aborted`)
    try {
      // Not only handlers may hang, but calls of the store, too.
      await Promise.race([run.run(), isOverdue.then(abandon)])
    } finally {
      stopTimer()
      signal?.removeEventListener('abort', onAbort)
    }
  }
}

/** Reports the failures of a store that is away once. */
class Outage {
  readonly #report: (error: unknown) => void
  #isReported = false

  constructor(report: (error: unknown) => void) {
    this.#report = report
  }

  failed(error: unknown): void {
    if (!this.#isReported) this.#report(error)
    this.#isReported = true
  }

  ended(): void {
    this.#isReported = false
  }
}

interface RunParts extends RunOptions {
  readonly delivery: EventDelivery
  /** Called if no event is due at first. */
  readonly onNone: () => Promise<void>
  readonly now: () => Date
  readonly outage: Outage
}

/** Claims events of all objects as places for their handlers get free. */
class Run {
  readonly #parts: RunParts
  readonly #wakeup = new Wakeup()
  readonly #turns: OwnerTurns
  #active = 0
  #activeRetries = 0
  #areRetriesFirst = true
  /** When a look for retries found none. */
  #noRetriesAt = -Infinity
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
    const { pollSeconds, onNone, outage } = this.#parts
    const lastScopes = this.#turns.next()
    let claimed = 0
    try {
      // First events of other owners go before retries. One call claims them all, because events of one claim are settled together.
      for (const attempted of lastScopes.length > 0 ? [false, true] : this.#kinds()) {
        claimed += await this.#claimKind(attempted, limit - claimed, attempted ? [] : lastScopes)
      }
      if (claimed === 0 && !this.#hasLooked) await onNone()
      this.#hasLooked = true
      outage.ended()
    } catch (error) {
      if (pollSeconds !== null) outage.failed(error)
      this.#fail(error)
    }
    return claimed
  }

  /** The kinds of events, as `attempted` of `claimEvents`. Each comes first every other time, so neither takes all places for long. */
  #kinds(): readonly boolean[] {
    const mayBeRetries = Math.abs(this.#parts.now().getTime() - this.#noRetriesAt) >= WITHOUT_RETRIES
    this.#areRetriesFirst = !this.#areRetriesFirst && mayBeRetries
    return [this.#areRetriesFirst, !this.#areRetriesFirst]
  }

  async #claimKind(attempted: boolean, free: number, lastScopes: readonly string[]): Promise<number> {
    const { delivery, concurrency, signal, now } = this.#parts
    // Half of the places are for first events, so a receiver that is down delays retries, and not the events of others.
    const forRetries = Math.max(1, Math.floor(concurrency / 2)) - this.#activeRetries
    const limit = attempted ? Math.min(free, forRetries) : free
    const hasEnded = () => signal?.aborted ?? false
    if (limit <= 0 || hasEnded()) return 0
    const follow = (started: Promise<DeliveryResult>, { object }: StoredEvent) => {
      this.#turns.started(object.scope)
      void this.#follow(started, attempted)
    }
    const claimed = await delivery.claim({ attempted, limit, lastScopes }, follow, hasEnded)
    if (attempted && claimed === 0) this.#noRetriesAt = now().getTime()
    return claimed
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
