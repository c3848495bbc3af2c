import { InvalidArgumentError, Option } from 'commander'
import type { ObjectMetadata, StorageObject } from '../../index.js'
import { repairedMediaType } from '../../core/http/media-type.js'
import { printable } from '../../core/printable.js'
import type { Cli } from '../cli.js'
import { EXIT, UsageError, type ExitCode } from '../exit.js'
import type { Output } from '../output.js'

const FIELDS = ['filename', 'content-type', 'metadata'] as const

interface UpdateOptions {
  readonly scope?: string
  readonly filename?: string
  readonly contentType?: string
  readonly metadata?: ObjectMetadata
  readonly clear?: readonly (typeof FIELDS)[number][]
}

export function addUpdate(cli: Cli): void {
  cli
    .command(
      'update',
      'Changes the filename, content type or metadata of an active object. Its bytes stay. ' +
        'Exits with 1 if there is no such object.',
    )
    .argument('<bucket>', 'bucket of the object')
    .argument('<key>', 'key of the object')
    .option('--scope <scope>', 'only if this scope owns the object')
    .option('--filename <text>', 'the new filename')
    .option('--content-type <type>', 'the new content type, such as image/png', mediaType)
    .option('--metadata <json>', 'the new metadata, as a JSON object of strings', parsedMetadata)
    .addOption(new Option('--clear <field...>', 'removes the value of a field').choices(FIELDS))
    .action((bucket: string, key: string, options: UpdateOptions) =>
      cli.withDatabase(async ({ store, output }) => {
        const object = await store.update({ bucket, key, scope: options.scope, ...changesOf(options) })
        return printObject(output, object, () => 'is up to date')
      }),
    )
}

/** Returns the fields to set. `null` clears one. */
function changesOf(options: UpdateOptions) {
  const { clear = [] } = options
  const given = {
    filename: options.filename,
    'content-type': options.contentType,
    metadata: options.metadata,
  }
  const both = clear.find((field) => given[field] !== undefined)
  if (both !== undefined) throw new UsageError(`--${both} can't be combined with --clear ${both}.`)
  const filename = clear.includes('filename') ? null : options.filename
  const contentType = clear.includes('content-type') ? null : options.contentType
  const metadata = clear.includes('metadata') ? null : options.metadata
  if (filename !== undefined) return { filename, contentType, metadata }
  if (contentType !== undefined) return { contentType, metadata }
  if (metadata !== undefined) return { metadata }
  throw new UsageError('Give at least one of --filename, --content-type, --metadata and --clear.')
}

/** The store accepts any text, but downloads need a media type. */
function mediaType(text: string): string {
  const type = repairedMediaType(text)
  if (type !== null) return type
  throw new InvalidArgumentError('Must be a media type such as image/png or "text/plain; charset=utf-8".')
}

/** Parses metadata. The store checks names, values and limits. */
function parsedMetadata(text: string): ObjectMetadata {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new InvalidArgumentError('Must be a JSON object of strings, such as {"color":"red"}.')
  }
  return value as ObjectMetadata
}

export function addTransfer(cli: Cli): void {
  cli
    .command(
      'transfer',
      'Gives an object to another scope. No quota applies. An upload in progress at the key ends. ' +
        'Exits with 1 if neither scope has the object.',
    )
    .argument('<bucket>', 'bucket of the object')
    .argument('<key>', 'key of the object')
    .requiredOption('--from <scope>', 'the owner (required)')
    .requiredOption('--to <scope>', 'the new owner (required)')
    .action((bucket: string, key: string, { from, to }: Record<'from' | 'to', string>) =>
      cli.withDatabase(async ({ store, output }) => {
        const object = await store.transfer({ bucket, key, from, to })
        return printObject(output, object, ({ scope }) => `now belongs to ${scope}`)
      }),
    )
}

async function printObject(
  output: Output,
  object: StorageObject | null,
  state: (object: StorageObject) => string,
): Promise<ExitCode> {
  if (object === null) {
    output.note('There is no such object.')
    return EXIT.found
  }
  const name = `${object.bucket}/${object.key}`
  await output.items([{ json: object, text: printable(`${name} ${state(object)}.`) }])
  return EXIT.ok
}
