import type { StorageObjectStore } from '../../core/store/contract.js'
import type { ObjectReference } from '../../core/store/records.js'
import type { Report } from '../../core/reporter.js'
import { BackgroundDelivery } from './background-delivery.js'
import type { ReportDelivery } from './event-delivery.js'
import type { EventHandler } from './event-handler.js'
import { createEventsOffNotice } from './events-off-notice.js'

/** Seconds that a claim lasts unless it is extended. */
export const DEFAULT_CLAIM_SECONDS = 60

/** The operation that errors of delivery are reported under. */
export const OPERATION = 'deliverEvents'

/** The events of a server with `onEvent`. */
export interface ServerEvents {
  readonly onEvent: EventHandler
  /** Delivers the events of an object that this process has changed, in the background. */
  changed(object: ObjectReference): void
  /** Reports once if the database records no events. Call it where there was nothing to deliver. */
  reportIfOff(): Promise<void>
}

export interface ServerEventsOptions {
  readonly onEvent: EventHandler
  readonly objects: StorageObjectStore
  readonly report: Report
  readonly now: () => Date
}

/** Returns a function that reports failures of delivery, with the event if its handler failed. */
export function deliveryReport(report: Report): ReportDelivery {
  return (error, event) => report(error, { operation: OPERATION, ...(event && { event }) })
}

export function createServerEvents({ onEvent, objects, report, now }: ServerEventsOptions): ServerEvents {
  const reportDelivery = deliveryReport(report)
  const reportIfOff = createEventsOffNotice(objects, reportDelivery)
  const background = new BackgroundDelivery({
    store: objects,
    onEvent,
    now,
    claimSeconds: DEFAULT_CLAIM_SECONDS,
    report: reportDelivery,
    onNone: reportIfOff,
  })
  return { onEvent, changed: (object) => background.changed(object), reportIfOff }
}
