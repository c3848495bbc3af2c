import type { StorageObjectStore } from '../../core/store/contract.js'
import type { ErrorListener } from '../../core/reporter.js'
import type { S3ServerCore } from '../create-s3-server.js'
import type { EventHandler } from '../events/event-handler.js'
import { deliverySource } from './delivery-source.js'
import { runDelivery } from './delivery-run.js'
import type { JobFailure, JobOptions } from './job.js'

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

/**
 * Delivers recorded events to the handler `onEvent` of a server, or of `options` for a store alone. Any number of processes may
 * run it. Each event is delivered at least once, and those of one object in the order of its changes.
 *
 * A handler that throws is reported to `onError`, and its event is retried after 1 s, doubling up to 1 h. Rejects if the store
 * fails, once the running handlers are done. With `pollSeconds`, such failures go to `onError` and the job goes on.
 *
 * @throws TypeError if an option is invalid, or if the store can't deliver events.
 */
export function deliverEvents(s3: S3ServerCore, options?: DeliverEventsOptions): Promise<DeliverEventsResult>
export function deliverEvents(
  store: StorageObjectStore,
  options: DeliverStoreEventsOptions,
): Promise<DeliverEventsResult>
export async function deliverEvents(
  source: S3ServerCore | StorageObjectStore,
  options: DeliverEventsOptions | DeliverStoreEventsOptions = {},
): Promise<DeliverEventsResult> {
  return runDelivery(deliverySource(source, options), options)
}
