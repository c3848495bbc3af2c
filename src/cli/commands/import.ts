import { runImport } from '../../server/jobs/import-objects.js'
import { loadSelect, withBucket, withBucketOptions, type BucketOptions } from '../bucket.js'
import { resumeAfter, runJob } from '../session.js'
import { concurrencyOf, type Cli } from '../cli.js'
import { EXIT } from '../exit.js'
import { count } from '../format.js'

interface ImportOptions extends BucketOptions {
  readonly map: string
  readonly concurrency?: number
  readonly dryRun?: boolean
}

const CONNECTIONS = 16

export function addImport(cli: Cli): void {
  withBucketOptions(
    cli.command(
      'import',
      'Records the objects of a bucket that the database does not know yet. Exits with 1 if one of them failed.',
    ),
  )
    .requiredOption(
      '--map <module>',
      'JavaScript module whose default export is the select function of importObjects (required)',
    )
    .option('--concurrency <number>', 'how many objects are in work at once (default: 16)', concurrencyOf)
    .option('--dry-run', 'change nothing and only count')
    .action((options: ImportOptions) =>
      cli.withDatabase(
        async (session) => {
          const { bucket, keyPrefix: prefix, after, concurrency, dryRun = false } = options
          const select = await loadSelect(options.map)
          const { failures } = await withBucket(session.store, options, (context) =>
            runJob(
              session,
              (job) =>
                runImport({ ...context, bucket }, { ...job, prefix, after, select, concurrency, dryRun }),
              {
                summary: ({ imported, known, differs, skipped, failures }) =>
                  `${dryRun ? 'Would import' : 'Imported'} ${count(imported)}, ` +
                  `known ${count(known)}, ${differs > 0 ? `differs ${count(differs)}, ` : ''}` +
                  `skipped ${count(skipped)}, failed ${count(failures)}.`,
                resume: resumeAfter,
              },
            ),
          )
          return failures > 0 ? EXIT.found : EXIT.ok
        },
        { connections: Math.min(options.concurrency ?? CONNECTIONS, CONNECTIONS) },
      ),
    )
}
