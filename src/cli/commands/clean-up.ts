import { setTimeout as wait } from 'node:timers/promises'
import { InvalidArgumentError } from 'commander'
import { StorageError } from '../../index.js'
import { MAX_FAILURES, type JobFailure } from '../../server/jobs/job.js'
import { CLEANED_AT_ONCE, runCleanUp, type CleanUpContext } from '../../server/jobs/clean-up.js'
import { createCheckReport, type CheckReport } from '../../server/jobs/check-report.js'
import { bucketText, withBucket, withWriteOptions, type WriteOptions } from '../bucket.js'
import { concurrencyOf, type Cli } from '../cli.js'
import { EXIT, Interrupted, UsageError, type ExitCode } from '../exit.js'
import { reportOf } from '../failure-report.js'
import { count } from '../format.js'
import { REPEAT, runJob, type Session } from '../session.js'

interface CleanUpCommandOptions extends WriteOptions {
  readonly bucket: ReadonlySet<string>
  readonly downloadExpiresIn: number
  readonly concurrency?: number
  readonly every?: number
  readonly temporary?: boolean
  readonly hard?: boolean
}

const A_WEEK = 7 * 86_400
const MAX_CONNECTIONS = 16

export function addCleanUp(cli: Cli): void {
  withWriteOptions(
    cli
      .command(
        'clean-up',
        'Settles expired reservations, and removes bytes that nothing needs. Calls no hooks of the application. ' +
          'Exits with 1 if an item failed.',
      )
      .requiredOption('--bucket <name>', 'bucket that it may touch (required, repeatable)', oneMore)
      .requiredOption(
        '--download-expires-in <seconds>',
        'longest lifetime of a download URL, download.maxExpiresIn of the server: replaced bytes stay that long (required)',
        (text) => secondsUpTo(A_WEEK, text),
      )
      .option(
        '--concurrency <number>',
        `how many items are in work at once (default: ${CLEANED_AT_ONCE})`,
        concurrencyOf,
      )
      .option(
        '--temporary',
        'also remove temporary objects past their end, without asking isUsed of the application (default: they stay)',
      )
      .option('--hard', 'with --temporary: keep no history of them (default: the rows stay as history)')
      .option('--every <seconds>', 'go on until it is stopped, with a pause of so many seconds', (text) =>
        secondsUpTo(86_400, text),
      ),
  ).action((options: CleanUpCommandOptions) => {
    if (options.hard && !options.temporary) {
      return cli.run(() => Promise.reject(new UsageError('--hard needs --temporary.')))
    }
    return cli.withDatabase(
      async (session) => {
        const { every } = options
        const note = (error: unknown) => session.output.note((error as Error).message)
        const checkReport = createCheckReport(note, () => new Date())
        if (every === undefined) return cleanUpOnce(session, options, checkReport)
        for (;;) {
          await untilFailure(session, () => cleanUpOnce(session, options, checkReport))
          const { signal } = session.interruption
          await wait(every * 1000, null, { signal }).catch(() => null)
          await session.interruption.checkpoint()
        }
      },
      { connections: Math.min(options.concurrency ?? CLEANED_AT_ONCE, MAX_CONNECTIONS) },
    )
  })
}

/** Prints what a run rejects with, such as an unavailable database, since the next run may succeed. */
async function untilFailure({ output, database }: Session, run: () => Promise<unknown>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (error instanceof Interrupted) throw error
    const { message, hints } = reportOf(error, database)
    output.error(message, hints)
  }
}

async function cleanUpOnce(
  session: Session,
  options: CleanUpCommandOptions,
  checkReport: CheckReport,
): Promise<ExitCode> {
  const { bucket: buckets, downloadExpiresIn: maxSeconds, concurrency } = options
  const endTemporary = options.temporary && endingOf(session, options.hard ? 'hard' : 'soft')
  const failed: JobFailure[] = []
  let failures = 0
  /** Failed items are in the result. The name of a bucket may be misspelt. */
  const noteIfPassedOver = (error: unknown) => {
    const bucket = error instanceof StorageError && error.params?.['bucket']
    if (bucket)
      session.output.note(`Passed over the bucket ${JSON.stringify(bucket)}, which no --bucket names.`)
  }
  await withBucket(session.store, options, (context) =>
    runJob(
      session,
      async (job) => {
        const counts = await runCleanUp(
          {
            ...{ ...context, buckets, download: { maxSeconds }, report: noteIfPassedOver, checkReport },
            records: { ...context.records, ...(endTemporary && { endTemporary }) },
          },
          {
            ...job,
            concurrency,
            onOutcome(item) {
              if (item.outcome !== 'failed') return
              failures++
              if (failed.length < MAX_FAILURES) failed.push(item)
            },
          },
        )
        return { ...counts, failed, failures }
      },
      {
        summary: ({ reservations, leftovers, temporary }) =>
          `Reservations: ${listed(reservations)}. Leftovers: ${listed(leftovers)}.` +
          (options.temporary ? ` Temporary: ${listed(temporary)}.` : ''),
        resume: () => REPEAT,
      },
    ),
  )
  return failures > 0 ? EXIT.found : EXIT.ok
}

/** Returns what removes objects past their end. */
function endingOf({ store }: Session, mode: 'soft' | 'hard'): CleanUpContext['records']['endTemporary'] {
  return async (objects) => (await store.endTemporary({ objects, mode })).removed
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([outcome, number]) => `${outcome} ${count(number)}`)
    .join(', ')
}

function oneMore(text: string, others: ReadonlySet<string> = new Set()): ReadonlySet<string> {
  return new Set([...others, bucketText(text)])
}

function secondsUpTo(most: number, text: string): number {
  const value = Number(text)
  if (/^[1-9]\d{0,9}$/.test(text) && value <= most) return value
  throw new InvalidArgumentError(`Must be an integer from 1 to ${most}.`)
}
