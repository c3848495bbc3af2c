import { InvalidArgumentError } from 'commander'
import type { ImportedItem, StorageDifference } from '../../index.js'
import { runCheck, TEN_YEARS } from '../../server/jobs/check-storage/check-storage.js'
import { printable } from '../../core/printable.js'
import { loadSelect, withBucket, withBucketOptions, type BucketOptions } from '../bucket.js'
import { resumeAfter, runJob } from '../session.js'
import type { Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { bytes, count, counted } from '../format.js'
import type { Item } from '../output.js'

interface CheckStorageCommandOptions extends BucketOptions {
  readonly olderThan?: number
  readonly map?: string
  readonly acceptEtags?: boolean
}

export function addCheckStorage(cli: Cli): void {
  withBucketOptions(
    cli.command(
      'check-storage',
      'Compares a bucket with the database. Exits with 1 if it finds a difference. Changes nothing without --accept-etags.',
    ),
  )
    .option(
      '--older-than <seconds>',
      'age from which unrecorded bytes are listed (default: 86400)',
      secondsOfAge,
    )
    .option('--map <module>', 'the module of an import: what it skips is not listed as unrecorded')
    .option('--accept-etags', 'record the ETags of changed objects whose size is the same')
    .action((options: CheckStorageCommandOptions) =>
      cli.withDatabase(async (session) => {
        const { bucket, keyPrefix: prefix, after, olderThan: olderThanSeconds } = options
        const select = options.map === undefined ? null : await loadSelect(options.map)
        const ignore = select && (async (item: ImportedItem) => (await select(item)) === null)
        const onDifference = async (difference: StorageDifference) => {
          const { kind, object, item } = difference
          if (options.acceptEtags && kind === 'changed' && object.size === item.size) return 'accept'
          session.interruption.problemFound()
          await session.output.items([itemOf(difference)])
          return null
        }
        const { missing, changed, unrecorded } = await withBucket(session.store, options, (context) =>
          runJob(
            session,
            (job) =>
              runCheck(
                { ...context, bucket },
                { ...job, prefix, after, olderThanSeconds, ignore, onDifference },
              ),
            {
              summary: ({ items, rows, missing, changed, unrecorded, accepted }) =>
                `Compared ${counted(items, 'item')} of the bucket with ${counted(rows, 'row')}: ` +
                `${count(missing)} missing, ${count(changed)} changed, ${count(unrecorded)} unrecorded` +
                `${options.acceptEtags ? `, ${count(accepted)} accepted` : ''}.`,
              resume: resumeAfter,
            },
          ),
        )
        return missing + changed + unrecorded > 0 ? EXIT.found : EXIT.ok
      }),
    )
}

function itemOf(difference: StorageDifference): Item {
  const { kind, bucket, storageKey, object, item } = difference
  const text = [
    kind.padEnd(10),
    printable(`${bucket}/${storageKey}`),
    ...(object ? [`${printable(object.scope)} ${bytes(object.size ?? 0)}`] : []),
    ...(item ? [`in the bucket ${bytes(item.size)}`] : []),
  ]
  return { json: difference, text: text.join('  ') }
}

function secondsOfAge(text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) <= TEN_YEARS) return Number(text)
  throw new InvalidArgumentError(`Must be a number of seconds from 0 to ${TEN_YEARS}.`)
}
