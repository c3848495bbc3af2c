import type { ObjectReference } from '../../core/store/records.js'
import { EventDelivery, type EventDeliveryOptions } from './event-delivery.js'

/** How many handlers of a server run at once. */
export const DEFAULT_CONCURRENCY = 8

/** How many changed objects wait for a handler. The events of further objects are left to the job. */
const MAX_WAITING = 1000

export interface BackgroundDeliveryOptions extends Pick<
  EventDeliveryOptions,
  'store' | 'onEvent' | 'now' | 'claimSeconds' | 'report'
> {
  /** Called if a changed object has no event that is due. */
  readonly onNone: () => Promise<void>
}

/**
 * Delivers the events of objects that this process has just changed, so a handler usually runs at once. What it doesn't take, or
 * what fails, is left to the job.
 */
export class BackgroundDelivery {
  readonly #options: BackgroundDeliveryOptions
  readonly #delivery: EventDelivery
  readonly #waiting = new Map<string, ObjectReference>()
  /** The names of the objects whose events are being delivered, and whether they have changed again since the last claim. */
  readonly #active = new Map<string, boolean>()

  constructor(options: BackgroundDeliveryOptions) {
    this.#options = options
    this.#delivery = new EventDelivery({
      ...options,
      settleAgain: async (error) => {
        options.report(error)
        return false
      },
      idle: true,
    })
  }

  /** Delivers the events of this object. Never throws and never waits. */
  changed({ bucket, key }: ObjectReference): void {
    const name = JSON.stringify([bucket, key])
    if (this.#active.has(name)) {
      this.#active.set(name, true)
    } else if (this.#active.size < DEFAULT_CONCURRENCY) {
      void this.#deliver(name, { bucket, key })
    } else if (this.#waiting.size < MAX_WAITING) {
      this.#waiting.set(name, { bucket, key })
    }
  }

  async #deliver(name: string, reference: ObjectReference): Promise<void> {
    try {
      do {
        this.#active.set(name, false)
        while (await this.#deliverNext(reference));
      } while (this.#active.get(name))
    } catch (error) {
      this.#options.report(error)
    }
    this.#active.delete(name)
    for (const [waiting, next] of this.#waiting) {
      this.#waiting.delete(waiting)
      void this.#deliver(waiting, next)
      return
    }
  }

  /** Delivers the oldest event of an object. Returns whether to look for the next one. */
  async #deliverNext(reference: ObjectReference): Promise<boolean> {
    const [delivery] = await this.#delivery.claim({ ...reference, limit: 1 })
    if (delivery) {
      const { outcome } = await delivery.catch(() => ({ outcome: 'unsettled' }))
      return outcome === 'delivered'
    }
    await this.#options.onNone()
    return false
  }
}
