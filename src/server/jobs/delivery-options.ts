import type { ErrorListener } from '../../core/reporter.js'
import { DEFAULT_CONCURRENCY } from '../events/background-delivery.js'
import type { EventHandler } from '../events/event-handler.js'
import { DEFAULT_CLAIM_SECONDS, OPERATION } from '../events/server-events.js'
import { OptionChecks, type JobFailure, type JobOptions } from './job.js'

export interface DeliverEventsOptions extends JobOptions {
  /**
   * Seconds between two looks for events, above 0 and at most 86400. With it the job runs until `signal` aborts, and without it
   * until no event is due.
   */
  readonly pollSeconds?: number | null | undefined
  /** Seconds that a claim lasts, 1 to 3600. Running handlers extend it. After a crash, events come back this much later. Default 60. */
  readonly claimSeconds?: number | null | undefined
  /** How many handlers run at once, 1 to 1000. Default 8. */
  readonly concurrency?: number | null | undefined
}

/** The options for a store without a server. */
export interface DeliverStoreEventsOptions extends DeliverEventsOptions {
  readonly onEvent: EventHandler
  /** Called with what handlers throw, and with failures of the store that the job survives. Default: logs to the console. */
  readonly onError?: ErrorListener | null | undefined
  /** Returns the current time. Default: the system clock. */
  readonly now?: (() => Date) | null | undefined
}

export interface DeliverEventsResult {
  /** The number of events whose handler returned while the claim held. */
  readonly delivered: number
  /** The first 1000 failures. These events are retried later. */
  readonly failed: readonly JobFailure[]
}

const MAX_CONCURRENCY = 1000
const MAX_CLAIM_SECONDS = 3600
const MAX_POLL_SECONDS = 86_400

export const checks = new OptionChecks(OPERATION)

/** The checked options of a run, with their defaults. */
export interface RunOptions {
  readonly pollSeconds: number | null
  readonly claimSeconds: number
  readonly concurrency: number
  readonly signal: AbortSignal | null
  readonly onProgress: JobOptions['onProgress']
}

/** @throws TypeError that names the option, its value and what is allowed. */
export function checkOptions(options: DeliverEventsOptions): RunOptions {
  return {
    pollSeconds: checks.seconds('pollSeconds', options.pollSeconds, MAX_POLL_SECONDS),
    claimSeconds: checks.integer(
      'claimSeconds',
      options.claimSeconds,
      MAX_CLAIM_SECONDS,
      DEFAULT_CLAIM_SECONDS,
    ),
    concurrency: checks.integer('concurrency', options.concurrency, MAX_CONCURRENCY, DEFAULT_CONCURRENCY),
    signal: checks.signal(options.signal),
    onProgress: checks.function('onProgress', options.onProgress),
  }
}
