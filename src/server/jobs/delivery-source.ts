import { createReport } from '../../core/reporter.js'
import { shown } from '../../core/store/validation/checks.js'
import type { EventHandler, EventStore } from '../events/event-handler.js'
import type { ReportDelivery } from '../events/event-delivery.js'
import { createEventsOffNotice } from '../events/events-off-notice.js'
import { deliveryReport } from '../events/server-events.js'
import { findDependencies } from '../server-dependencies.js'
import { checks, type DeliverStoreEventsOptions } from './delivery-options.js'

/** Where a job gets events from, and who handles them. */
export interface DeliverySource {
  readonly store: EventStore
  readonly onEvent: EventHandler
  readonly report: ReportDelivery
  readonly now: () => Date
  /** Called if no event is due at first. */
  readonly onNone: () => Promise<void>
}

const METHODS = ['claimEvents', 'settleEvents', 'extendClaims'] as const

/** Returns the store and handler of a server, or those of a store and the options. Changes nothing. */
export function deliverySource(source: object, options: Partial<DeliverStoreEventsOptions>): DeliverySource {
  const dependencies = findDependencies(source)
  if (!dependencies) return storeSource(source, options)
  for (const name of ['onEvent', 'onError', 'now'] as const) {
    if (options[name] !== undefined && options[name] !== null) {
      throw checks.error(
        `${name} must be an option of createS3Server() if the events of a server are delivered.`,
      )
    }
  }
  const { events, records, report, now } = dependencies
  if (!events) throw checks.error('the server must have the option onEvent (got none).')
  return {
    store: eventStore(records.objects),
    onEvent: events.onEvent,
    report: deliveryReport(report),
    now,
    onNone: () => events.reportIfOff(),
  }
}

function storeSource(source: object, options: Partial<DeliverStoreEventsOptions>): DeliverySource {
  const store = eventStore(source)
  const onEvent = checks.function('onEvent', options.onEvent)
  if (!onEvent) throw checks.error(`onEvent must be a function (got ${shown(options.onEvent)}).`)
  const report = deliveryReport(createReport(checks.function('onError', options.onError)))
  return {
    store,
    onEvent,
    report,
    now: checks.function('now', options.now) ?? (() => new Date()),
    onNone: createEventsOffNotice(store, report),
  }
}

function eventStore(source: object): EventStore {
  const store = source as Partial<EventStore> | null | undefined
  const missing = METHODS.filter((name) => typeof store?.[name] !== 'function')
  if (missing.length === METHODS.length) {
    throw checks.error(
      `the first argument must be a server returned by createS3Server() or a store such as postgresAdapter(pool) (got ${shown(source)}).`,
    )
  }
  if (missing.length > 0) throw checks.error(`the store must have the method ${missing[0]}.`)
  return store as EventStore
}
