import type { StorageObjectStore } from '../../core/store/contract.js'
import type { S3ServerCore } from '../create-s3-server.js'
import type {
  DeliverEventsOptions,
  DeliverEventsResult,
  DeliverStoreEventsOptions,
} from './delivery-options.js'
import { runDelivery } from './delivery-run.js'
import { deliverySource } from './delivery-source.js'

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
