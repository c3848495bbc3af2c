import { InvalidArgumentError } from 'commander'
import { MAX_PARTS } from '../../core/object-storage.js'
import { isOrigin, verifyService } from '../../server/verify.js'
import { bucketText, withBucket, withWriteOptions, type WriteOptions } from '../bucket.js'
import { positiveInteger, type Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { withoutSecrets } from '../failure-report.js'

interface DoctorOptions extends WriteOptions {
  readonly bucket: string
  readonly origin?: string
  readonly maxParts?: number
  readonly browserUploads: boolean
}

export function addDoctor(cli: Cli): void {
  withWriteOptions(
    cli
      .command(
        'doctor',
        'Checks the database and a bucket as requests use them. Writes small objects below .svc-db/, and removes them. ' +
          'Exits with 1 if it finds a fault.',
      )
      .requiredOption('--bucket <name>', 'bucket to check (required)', bucketText),
  )
    .option(
      '--origin <origin>',
      'origin of your pages, such as https://app.example: asks the bucket as they would',
      originText,
    )
    .option('--max-parts <number>', 'maxParts of s3Storage (default: 10000)', maxPartsOf)
    .option('--no-browser-uploads', 'does not check the CORS rules, which only uploads by browsers need')
    .action((options: DoctorOptions) =>
      cli.withDatabase(async ({ store, database, output, interruption }) => {
        const { bucket, origin, browserUploads } = options
        const { signal } = interruption
        interruption.finishSteps()
        const findings = await withBucket(store, options, async ({ storage }) => {
          try {
            return await verifyService(store, storage, { bucket, origin, browserUploads, signal })
          } catch (error) {
            await interruption.checkpoint()
            throw error
          }
        })
        await output.items(
          findings.map(({ part, message }) => {
            const json = { part, message: withoutSecrets(message, database) }
            return { json, text: `${part}: ${json.message}` }
          }),
        )
        if (findings.length > 0) return EXIT.found
        output.note('No problems found.')
        return EXIT.ok
      }),
    )
}

function originText(text: string): string {
  if (isOrigin(text)) return text
  throw new InvalidArgumentError('Must be an origin without a path, such as https://app.example.')
}

function maxPartsOf(text: string): number {
  const value = positiveInteger(text)
  if (value > MAX_PARTS) throw new InvalidArgumentError(`Must be an integer from 1 to ${MAX_PARTS}.`)
  return value
}
