import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { createReport, type ErrorListener } from '../../core/reporter.js'
import type { StorageObjectStore } from '../../core/store/contract.js'
import { shown } from '../../core/store/validation/checks.js'
import type { S3ServerCore } from '../create-s3-server.js'
import {
  DEFAULT_CLAIM_SECONDS,
  DEFAULT_CONCURRENCY,
  DEFAULT_HANDLER_SECONDS,
  type DeliveryResult,
  type EventHandler,
  type EventStore,
} from '../events/delivery.js'
import { EventRunner, OPERATION } from '../events/runner.js'
import { findDependencies } from '../dependencies.js'
import {
  concurrencyOption,
  JOB_OPTIONS,
  MAX_FAILURES,
  showProgress,
  type JobFailure,
  type JobOptions,
} from './job.js'

export interface DeliverEventsOptions extends JobOptions {
  /**
   * Seconds between two looks for events, above 0 and at most 86400. With it the job runs until `signal` aborts, and without it
   * until no event is due.
   */
  readonly pollSeconds?: number | null | undefined
  /** Seconds that a claim lasts, 1 to 3600. Running handlers extend it. After a crash, events come back this much later. Default 60. */
  readonly claimSeconds?: number | null | undefined
  /**
   * How many handlers run at once, 1 to 1000. Default 8. Retries take at most half of these places; if there is only one, every
   * other event may be a retry.
   */
  readonly concurrency?: number | null | undefined
  /** Seconds that a handler may run, above 0 and at most 86400. Default: as on the server, or 3600. */
  readonly handlerSeconds?: number | null | undefined
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

const MAX_CLAIM_SECONDS = 3600

const OPTIONS = namesOf<DeliverStoreEventsOptions>({
  ...JOB_OPTIONS,
  ...{ pollSeconds: true, claimSeconds: true, concurrency: true, handlerSeconds: true },
  ...{ onEvent: true, onError: true, now: true },
})
const checks = new OptionChecks(OPERATION)

/**
 * Delivers recorded events to the handler `onEvent` of a server, or of `options` for a store alone. Any number of processes may
 * run it. Each event is delivered at least once, and those of one object in the order of its changes.
 *
 * A handler that throws is reported to `onError`, and its event is retried after 1 s, doubling up to 1 h. Rejects if the store
 * fails, once the running handlers are done. With `pollSeconds`, such failures go to `onError` and the job goes on.
 *
 * When `signal` aborts, running handlers have 30 seconds. Then their signals abort, and the job resolves.
 *
 * @throws TypeError if an option is invalid, or if the store can't deliver events.
 *
 * @example
 * import { deliverEvents } from '@svc/db'
 *
 * const stopping = new AbortController()
 * const delivery = deliverEvents(s3, { pollSeconds: 5, signal: stopping.signal })
 * process.once('SIGTERM', () => stopping.abort())
 */
export function deliverEvents(
  s3: S3ServerCore,
  options?: DeliverEventsOptions | null,
): Promise<DeliverEventsResult>
export function deliverEvents(
  store: StorageObjectStore,
  options: DeliverStoreEventsOptions,
): Promise<DeliverEventsResult>
export async function deliverEvents(
  source: S3ServerCore | StorageObjectStore,
  given?: DeliverEventsOptions | DeliverStoreEventsOptions | null,
): Promise<DeliverEventsResult> {
  const options: Partial<DeliverStoreEventsOptions> = checks.optionalOptions(given, OPTIONS)
  const { runner, report } = runnerOf(source, options)
  const pollSeconds = checks.seconds('pollSeconds', options.pollSeconds)
  const handlerSeconds = checks.seconds('handlerSeconds', options.handlerSeconds)
  const claim = options.claimSeconds ?? DEFAULT_CLAIM_SECONDS
  const claimSeconds = checks.integer('claimSeconds', claim, 1, MAX_CLAIM_SECONDS)
  const concurrency = concurrencyOption(checks, 'concurrency', options.concurrency, DEFAULT_CONCURRENCY)
  const signal = checks.signal(options.signal)
  const onProgress = checks.function('onProgress', options.onProgress)

  const failed: JobFailure[] = []
  let delivered = 0
  let done = 0
  function onResult(result: DeliveryResult): void {
    if (result.outcome === 'lost') return
    done++
    if (result.outcome === 'delivered') delivered++
    if (result.outcome === 'failed' && failed.length < MAX_FAILURES) {
      const { bucket, key } = result.event.object
      failed.push({ bucket, key, error: result.error })
    }
    showProgress(onProgress, { done }, report, OPERATION)
  }
  await runner.deliver({ pollSeconds, claimSeconds, handlerSeconds, concurrency, signal, onResult })
  return { delivered, failed }
}

/** Returns the runner of a server, or a new one for a store and the handler of the options. */
function runnerOf(source: object, options: Partial<DeliverStoreEventsOptions>) {
  const dependencies = findDependencies(source)
  if (!dependencies) {
    const store = eventStore(source)
    const onEvent = checks.requiredFunction('onEvent', options.onEvent)
    const report = createReport(checks.function('onError', options.onError))
    const now = checks.function('now', options.now) ?? (() => new Date())
    const handlerSeconds = DEFAULT_HANDLER_SECONDS
    return { runner: new EventRunner({ store, onEvent, handlerSeconds, report, now }), report }
  }
  for (const name of ['onEvent', 'onError', 'now'] as const) {
    if (options[name] !== undefined && options[name] !== null) {
      throw checks.error(
        `${name} must be an option of createS3Server() if the events of a server are delivered.`,
      )
    }
  }
  const { events, records, report } = dependencies
  if (!events) throw checks.error('the server must have the option onEvent (got none).')
  eventStore(records.objects)
  return { runner: events, report }
}

const METHODS = ['claimEvents', 'settleEvents', 'extendClaims'] as const

/** @throws TypeError unless the store has the methods that deliver events. */
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
