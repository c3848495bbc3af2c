import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SelectImport } from '../../index.js'
import { runImport } from '../../server/jobs/import-objects.js'
import { withBucket, withBucketOptions, type BucketOptions } from '../bucket.js'
import { printEnd, resumeAfter, runJob } from '../session.js'
import { positiveInteger, type Cli } from '../cli.js'
import { UsageError } from '../exit.js'
import { count, printable } from '../format.js'

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
    .option('--concurrency <number>', 'how many objects are in work at once (default: 16)', positiveInteger)
    .option('--dry-run', 'change nothing and only count')
    .action((options: ImportOptions) =>
      cli.withDatabase(
        async (session) => {
          const { bucket, keyPrefix: prefix, after, concurrency, dryRun = false } = options
          const select = await loadSelect(options.map)
          const result = await withBucket(session.store, options, (context) =>
            runJob(session, { resume: resumeAfter }, (job) =>
              runImport({ ...context, bucket }, { ...job, prefix, after, select, concurrency, dryRun }),
            ),
          )
          return printEnd(session, {
            result,
            summary:
              `${dryRun ? 'Would import' : 'Imported'} ${count(result.imported)}, ` +
              `known ${count(result.known)}, skipped ${count(result.skipped)}, failed ${count(result.failures)}.`,
            resume: session.interruption.signal.aborted ? resumeAfter(result.after) : null,
          })
        },
        { connections: Math.min(options.concurrency ?? CONNECTIONS, CONNECTIONS) },
      ),
    )
}

async function loadSelect(file: string): Promise<SelectImport> {
  let loaded: { readonly default?: unknown }
  try {
    loaded = (await import(pathToFileURL(resolve(file)).href)) as typeof loaded
  } catch (error) {
    throw new UsageError(
      `--map ${printable(file)} could not be loaded: ${error instanceof Error ? error.message : String(error)}`,
      // The stack of a syntax error begins with its place.
      ...(error instanceof SyntaxError ? [error.stack!.split('\n', 1)[0]!] : []),
    )
  }
  if (typeof loaded.default === 'function') return loaded.default as SelectImport
  throw new UsageError(
    `--map must be a module whose default export is a function (got ${typeof loaded.default}).`,
    "Example: export default ({ key }) => ({ scope: `user:${key.split('/')[1]}` })",
  )
}
