import { namesOf } from '../../core/known-names.js'
import { OptionChecks } from '../../core/option-checks.js'
import { shown } from '../../core/store/validation/checks.js'
import type { S3ServerCore } from '../create-s3-server.js'
import { dependenciesOf } from '../dependencies.js'
import { pause } from '../waits.js'
import { runCleanUp, type CleanUpResult } from './clean-up.js'
import { DEFAULT_CONCURRENCY } from '../events/delivery.js'
import { deliverEvents, type DeliverEventsOptions, type DeliverEventsResult } from './deliver-events.js'
import { concurrencyOption } from './job.js'
import { reportOnce, type JobReport } from './report-once.js'

export interface RunJobsOptions {
  /** Ends the jobs. What is in progress is completed first. Handlers of events have 30 seconds. */
  readonly signal: AbortSignal
  /** Seconds between the end of a run and the next one, above 0 and at most 86400. Default: 300. */
  readonly cleanUpEverySeconds?: number | null | undefined
  /** Removes history that is older than so many seconds, 0 or more. Default: history stays. */
  readonly purgeDeletedAfterSeconds?: number | null | undefined
  /** `false`: delivers no events. Default: delivers them if the server has `onEvent`, and looks for them every 5 seconds. */
  readonly deliverEvents?: RunDeliveryOptions | false | null | undefined
  /** Called after each run that succeeded, and for `deliverEvents` once, at its end. What it throws goes to `onError`. */
  readonly onRun?: ((run: JobRun) => unknown) | null | undefined
}

export type RunDeliveryOptions = Pick<DeliverEventsOptions, 'pollSeconds' | 'concurrency'>

interface JobResults {
  readonly cleanUp: CleanUpResult
  /** The number of rows that were removed. */
  readonly purgeDeleted: number
  readonly deliverEvents: DeliverEventsResult
}

/** A run that has succeeded. */
export type JobRun = {
  readonly [Job in keyof JobResults]: { readonly job: Job; readonly result: JobResults[Job] }
}[keyof JobResults]

const JOB = 'runJobs'
const OPTIONS = namesOf<RunJobsOptions>({
  ...{ signal: true, cleanUpEverySeconds: true, purgeDeletedAfterSeconds: true },
  ...{ deliverEvents: true, onRun: true },
})
const DELIVERY_OPTIONS = namesOf<RunDeliveryOptions>({ pollSeconds: true, concurrency: true })
const checks = new OptionChecks(JOB)

const DEFAULT_EVERY_SECONDS = 300
const DEFAULT_POLL_SECONDS = 5
const A_CENTURY = 100 * 365 * 86_400

/** Rows of history that one statement removes. */
const PURGE_SIZE = 1000

/**
 * Runs what a service needs beside its requests: cleans up, removes old history and delivers events. Each job runs at once and again
 * some time after its last run has ended. Resolves once `signal` has aborted and everything in progress has ended. Any number of
 * processes may run it.
 *
 * A run that fails is reported to `onError` under the name of its job, and repeated at its next time. Items that fail for the same
 * reason are reported once a run.
 *
 * @throws TypeError (rejects) if an option is invalid, or if `s3` was not created by `createS3Server`.
 *
 * @example
 * import { runJobs } from '@svc/db'
 *
 * const stopping = new AbortController()
 * const jobs = runJobs(s3, { signal: stopping.signal, purgeDeletedAfterSeconds: 30 * 86_400 })
 * process.once('SIGTERM', () => stopping.abort())
 */
export async function runJobs(s3: S3ServerCore, options: RunJobsOptions): Promise<void> {
  const dependencies = dependenciesOf(s3, JOB)
  const { records, events, now } = dependencies
  const given = checks.options(options, OPTIONS)
  const signal = checks.signal(given.signal)
  if (!signal) throw checks.error(`signal must be an AbortSignal (got ${shown(given.signal)}).`)
  const everySeconds =
    checks.seconds('cleanUpEverySeconds', given.cleanUpEverySeconds) ?? DEFAULT_EVERY_SECONDS
  const historySeconds = checks.seconds('purgeDeletedAfterSeconds', given.purgeDeletedAfterSeconds, {
    ...{ max: A_CENTURY, orZero: true },
  })
  const delivery = deliveryOption(given.deliverEvents, events !== null)
  const onRun = checks.function('onRun', given.onRun)

  /** A failure that ends a run, and those of its items, may be alike: a database that is away fails both. */
  async function run<Job extends keyof JobResults>(
    job: Job,
    work: (report: JobReport) => Promise<JobResults[Job]>,
  ) {
    const report = reportOnce(dependencies.report)
    try {
      const result = await work(report)
      await onRun?.({ job, result } as JobRun)
    } catch (error) {
      report(error, { operation: job })
    }
  }

  async function repeat<Job extends keyof JobResults>(
    job: Job,
    work: (report: JobReport) => Promise<JobResults[Job]>,
  ) {
    while (!signal?.aborted) {
      await run(job, work)
      await pause(everySeconds, signal)
    }
  }

  async function purgeHistory(olderThanSeconds: number): Promise<number> {
    const before = new Date(now().getTime() - olderThanSeconds * 1000)
    for (let purged = 0; ;) {
      const rows = await records.objects.purgeDeleted({ before, limit: PURGE_SIZE })
      purged += rows
      if (rows < PURGE_SIZE || signal?.aborted) return purged
    }
  }

  await Promise.all([
    repeat('cleanUp', (report) => runCleanUp({ ...dependencies, report }, { signal })),
    historySeconds !== null && repeat('purgeDeleted', () => purgeHistory(historySeconds)),
    delivery && run('deliverEvents', () => deliverEvents(s3, { ...delivery, signal })),
  ])
}

/** Returns how to deliver events, or `null` if this process doesn't. */
function deliveryOption(value: RunJobsOptions['deliverEvents'], hasHandler: boolean) {
  if (value === false) return null
  if (value === undefined || value === null) return hasHandler ? { pollSeconds: DEFAULT_POLL_SECONDS } : null
  const { pollSeconds, concurrency } = checks.nested('deliverEvents', value, DELIVERY_OPTIONS)
  if (!hasHandler) throw checks.error('deliverEvents needs a server with the option onEvent.')
  return {
    pollSeconds: checks.seconds('deliverEvents.pollSeconds', pollSeconds) ?? DEFAULT_POLL_SECONDS,
    concurrency: concurrencyOption(checks, 'deliverEvents.concurrency', concurrency, DEFAULT_CONCURRENCY),
  }
}
