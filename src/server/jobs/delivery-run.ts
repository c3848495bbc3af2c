import { EventDelivery, type DeliveryResult } from '../events/event-delivery.js'
import { OPERATION } from '../events/server-events.js'
import {
  checkOptions,
  type DeliverEventsOptions,
  type DeliverEventsResult,
  type RunOptions,
} from './delivery-options.js'
import type { DeliverySource } from './delivery-source.js'
import { MAX_FAILURES, showProgress, type JobFailure } from './job.js'
import { Wakeup } from './wakeup.js'

/** Longest pause before events that could not be settled are settled again, in seconds. */
const LONGEST_PAUSE = 5

/** Checks the options, then delivers events until none is due, or until the signal aborts. */
export async function runDelivery(
  source: DeliverySource,
  options: DeliverEventsOptions,
): Promise<DeliverEventsResult> {
  const checked = checkOptions(options)
  const run = new DeliveryRun(source, checked)
  checked.signal?.addEventListener('abort', run.wake)
  try {
    return await run.run()
  } finally {
    checked.signal?.removeEventListener('abort', run.wake)
  }
}

class DeliveryRun {
  readonly #source: DeliverySource
  readonly #options: RunOptions
  readonly #delivery: EventDelivery
  readonly #wakeup = new Wakeup()
  readonly #failed: JobFailure[] = []
  #delivered = 0
  #done = 0
  #active = 0
  #storeFailure: { readonly error: unknown } | null = null
  #hasLooked = false

  readonly wake = this.#wakeup.call

  constructor(source: DeliverySource, options: RunOptions) {
    this.#source = source
    this.#options = options
    const { claimSeconds } = options
    const settleAgain = (error: unknown) => this.#settleAgain(error)
    this.#delivery = new EventDelivery({ ...source, claimSeconds, settleAgain, idle: false })
  }

  async run(): Promise<DeliverEventsResult> {
    const { signal, concurrency, pollSeconds } = this.#options
    while (!signal?.aborted && !this.#storeFailure) {
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
    if (this.#storeFailure) throw this.#storeFailure.error
    return { delivered: this.#delivered, failed: this.#failed }
  }

  /** Claims as many events as there are places, and starts their handlers. Returns the number. */
  async #claim(limit: number): Promise<number> {
    try {
      const deliveries = await this.#delivery.claim({ limit })
      for (const delivery of deliveries) void this.#follow(delivery)
      if (deliveries.length === 0 && !this.#hasLooked) await this.#source.onNone()
      this.#hasLooked = true
      return deliveries.length
    } catch (error) {
      this.#fail(error)
      return 0
    }
  }

  async #follow(delivery: Promise<DeliveryResult>): Promise<void> {
    this.#active++
    try {
      this.#count(await delivery)
    } catch (error) {
      // A job that polls has reported it and tried again until it was stopped.
      if (this.#options.pollSeconds === null) this.#fail(error)
    }
    this.#active--
    this.wake()
  }

  #count(result: DeliveryResult): void {
    if (result.outcome === 'lost') return
    this.#done++
    if (result.outcome === 'delivered') this.#delivered++
    if (result.outcome === 'failed' && this.#failed.length < MAX_FAILURES) {
      const { bucket, key } = result.event.object
      this.#failed.push({ bucket, key, error: result.error })
    }
    const report = (error: unknown) => this.#source.report(error)
    showProgress(this.#options.onProgress, { done: this.#done }, report, OPERATION)
  }

  /** Ends the job, or reports the error if the job polls and will try again. */
  #fail(error: unknown): void {
    if (this.#options.pollSeconds === null) {
      this.#storeFailure ??= { error }
      this.wake()
    } else {
      this.#source.report(error)
    }
  }

  async #settleAgain(error: unknown): Promise<boolean> {
    const { pollSeconds, signal } = this.#options
    if (pollSeconds === null) return false
    this.#source.report(error)
    if (signal?.aborted) return false
    await pause(Math.min(pollSeconds, LONGEST_PAUSE), signal)
    return true
  }
}

/** Resolves after these seconds, or when the signal aborts. */
async function pause(seconds: number, signal: AbortSignal | null): Promise<void> {
  const wakeup = new Wakeup()
  signal?.addEventListener('abort', wakeup.call)
  await wakeup.wait(seconds)
  signal?.removeEventListener('abort', wakeup.call)
}
