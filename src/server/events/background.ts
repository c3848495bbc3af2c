import { detached } from '../../core/detached.js'
import type { OwnedReference } from '../../core/store/records.js'
import {
  DEFAULT_CLAIM_SECONDS,
  DEFAULT_CONCURRENCY,
  EventDelivery,
  type DeliveryResult,
  type EventSource,
} from './delivery.js'
import type { RecordingCheck } from './recording-check.js'
import { startTimer } from '../waits.js'
import { WaitingObjects, type ChangedObject } from './waiting-objects.js'

type Delivered = Extract<DeliveryResult, { readonly outcome: 'delivered' }>

/** Keeps the runtime from stopping a request's work until the promise has settled. */
export type WaitUntil = (promise: Promise<void>) => unknown

export interface BackgroundDeliveryOptions extends EventSource {
  /** `null`: deliveries run in the process, and requests share them. */
  readonly waitUntil: WaitUntil | null
  readonly recording: RecordingCheck
  /** Gets what `waitUntil` throws. */
  readonly reportWaitUntil: (error: unknown) => void
}

/** Delivers the events of objects that this process has changed, as soon as they change. */
export class BackgroundDelivery {
  readonly #options: BackgroundDeliveryOptions
  /** Shared by the runs that changes start, so that their claims are extended and their events settled together. */
  readonly #shared: EventDelivery
  /** The deliveries in progress, each of which {@link close} may have to abandon. */
  readonly #deliveries = new Map<Promise<void>, EventDelivery>()
  readonly #waiting = new WaitingObjects()
  /** The names of the objects whose events are being delivered, and whether they have changed again since the last look. */
  readonly #active = new Map<string, boolean>()
  /** No `AbortController`: workers refuse one request the use of what another has created. */
  #isClosed = false

  constructor(options: BackgroundDeliveryOptions) {
    this.#options = options
    this.#shared = this.#newDelivery()
  }

  #newDelivery(): EventDelivery {
    const settleAgain = async (error: unknown) => {
      this.#options.report(error)
      return false
    }
    return new EventDelivery({
      ...this.#options,
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
    if (this.#isClosed) return
    const object = { scope, bucket, key, isServed: false }
    const { waitUntil, reportWaitUntil } = this.#options
    if (!waitUntil) return detached(() => this.#share(object))
    const own = this.#newDelivery()
    const delivery = this.#track(own, this.#deliverAll(own, object))
    new Promise((resolve) => resolve(waitUntil(delivery))).catch(reportWaitUntil)
  }

  /** Starts no more deliveries. Resolves once those in progress have ended, or after these seconds, when their signals abort. */
  async close(timeoutSeconds: number): Promise<void> {
    this.#isClosed = true
    let stopTimer = (): void => undefined
    const isOverdue = new Promise<void>((resolve) => {
      stopTimer = startTimer(timeoutSeconds, resolve, false)
    })
    const abandon = () => {
      for (const delivery of new Set(this.#deliveries.values())) {
        delivery.abandon(`The server was closed ${timeoutSeconds} seconds ago`)
      }
    }
    await Promise.race([this.idle(), isOverdue.then(abandon)])
    stopTimer()
  }

  /** Resolves once nothing is being delivered. */
  async idle(): Promise<void> {
    while (this.#deliveries.size > 0) await Promise.allSettled(this.#deliveries.keys())
  }

  #share(object: ChangedObject): void {
    const name = JSON.stringify([object.bucket, object.key])
    if (this.#active.has(name)) {
      this.#active.set(name, true)
    } else if (this.#active.size < DEFAULT_CONCURRENCY) {
      void this.#track(this.#shared, this.#deliver(name, object))
    } else {
      this.#waiting.add(name, object)
    }
  }

  async #track(delivery: EventDelivery, run: Promise<void>): Promise<void> {
    this.#deliveries.set(run, delivery)
    try {
      await run
    } finally {
      this.#deliveries.delete(run)
    }
  }

  /** Delivers one event of the object, which then waits for its next turn. */
  async #deliver(name: string, object: ChangedObject): Promise<void> {
    this.#active.set(name, false)
    const result = await this.#deliverOldest(this.#shared, object)
    const hasChanged = this.#active.get(name)
    this.#active.delete(name)
    if (result?.hasNext || hasChanged)
      this.#waiting.addAgain(name, { ...object, isServed: object.isServed || result !== null })
    if (this.#isClosed) return
    const next = this.#waiting.take()
    if (next) void this.#track(this.#shared, this.#deliver(...next))
  }

  /** Delivers the events of one object until none is due. */
  async #deliverAll(delivery: EventDelivery, object: ChangedObject): Promise<void> {
    let result = await this.#deliverOldest(delivery, object)
    while (result?.hasNext && !this.#isClosed) {
      result = await this.#deliverOldest(delivery, { ...object, isServed: true })
    }
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
      const claimed = await delivery.claim({ bucket, key, limit: 1 }, follow, () => this.#isClosed)
      if (claimed === 0 && !isServed) await this.#options.recording.reportIfOff()
    } catch (error) {
      this.#options.report(error)
    }
    const [result = null] = await Promise.all(started)
    return result
  }
}
