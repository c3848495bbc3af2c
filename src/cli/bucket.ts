import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvalidArgumentError, type Command } from 'commander'
import type { SelectImport, StorageObjectStore } from '../index.js'
import type { CleanUpContext } from '../server/jobs/clean-up.js'
import type { JobContext } from '../server/jobs/job.js'
import { LONGEST_URL_SECONDS } from '../server/url-terms.js'
import { mapStorageErrors } from '../server/storage.js'
import { printable } from '../core/printable.js'
import type * as S3Entry from '../storage/s3/s3-storage.js'
import { loadDriver } from './databases/database-kinds.js'
import { UsageError } from './exit.js'

export interface ServiceOptions {
  readonly s3Endpoint?: string
  readonly bucketName?: ReadonlyMap<string, string>
}

/** The options of commands that write to the bucket, also where they only remove: an empty object may take the place of bytes. */
export interface WriteOptions extends ServiceOptions {
  readonly uploadHeader?: ReadonlyMap<string, string>
  readonly createOnly: boolean
}

export interface BucketOptions extends ServiceOptions {
  readonly bucket: string
  readonly keyPrefix?: string
  readonly after?: string
}

export const withServiceOptions = (command: Command): Command =>
  command
    .option('--s3-endpoint <url>', 'URL of a service other than AWS, addressed with path-style URLs')
    .option(
      '--bucket-name <recorded=real>',
      'name of a recorded bucket in the service, if it was moved (repeatable)',
      bucketNames,
    )

export const withWriteOptions = (command: Command): Command =>
  withServiceOptions(command)
    .option(
      '--upload-header <name=value>',
      'header of everything that is written, as in uploadHeaders of s3Storage (repeatable)',
      uploadHeaders,
    )
    .option('--no-create-only', 'for services without conditional writes, as createOnly: false of s3Storage')

/** Adds a header to those of earlier options. */
function uploadHeaders(
  text: string,
  known: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const [name, value] = [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]
  if (name !== '' && value !== '' && text.includes('='))
    return new Map([...known, [name.toLowerCase(), value]])
  throw new InvalidArgumentError('Must be a name and a value, such as x-amz-storage-class=STANDARD_IA.')
}

/** Adds a pair of names to those of earlier options. */
function bucketNames(
  text: string,
  known: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const [recorded, real, ...others] = text.split('=')
  if (recorded && real && others.length === 0) return new Map([...known, [recorded, real]])
  throw new InvalidArgumentError('Must be two names, such as old-bucket=new-bucket.')
}

export function withBucketOptions(command: Command): Command {
  return withServiceOptions(
    command
      .requiredOption('--bucket <name>', 'bucket to list (required)', bucketText)
      .option('--key-prefix <prefix>', 'only keys that start with this text (default: all)', keyText)
      .option('--after <key>', 'only keys after this one, in byte order (default: from the start)', keyText),
  )
}

export function bucketText(text: string): string {
  if (text === '' || text.length > 255) throw new InvalidArgumentError('Must have 1 to 255 characters.')
  return text
}

/** Parses a key or the start of one, within the limit of S3. */
function keyText(text: string): string {
  const size = Buffer.byteLength(text)
  if (size === 0 || size > 1024) throw new InvalidArgumentError('Must have 1 to 1024 bytes of UTF-8.')
  return text
}

/** Returns what jobs work with besides a bucket. What fails is in their results, so nothing is reported. */
export function contextOf(store: StorageObjectStore) {
  return {
    buckets: null,
    records: {
      objects: store,
      remove: (input) => store.remove(input),
      confirm: (input) => store.confirm(input),
      reject: (input) => store.reject(input),
    },
    uploadSeconds: LONGEST_URL_SECONDS,
    report: () => undefined,
    now: () => new Date(),
    events: null,
  } satisfies Omit<CleanUpContext, 'storage' | 'download' | 'checkReport'>
}

type CommandContext = ReturnType<typeof contextOf> & Pick<JobContext, 'storage'>

/** The file of `@svc/db/s3`, next to that of the command. It is not part of it, because it can't be loaded without the SDK. */
const S3_ENTRY: string = './s3.js'

/** Services other than AWS ignore it, but the SDK requires one. */
const ANY_REGION = 'us-east-1'

/** Runs work on S3 with the SDK's own settings. @throws UsageError for an invalid endpoint, or if the SDK is not installed. */
export async function withBucket<T>(
  store: StorageObjectStore,
  options: ServiceOptions & Partial<WriteOptions> & { readonly maxParts?: number },
  work: (context: CommandContext) => Promise<T>,
): Promise<T> {
  const { s3Endpoint: endpoint, bucketName: names, uploadHeader: headers, createOnly, maxParts } = options
  if (endpoint !== undefined && !(URL.canParse(endpoint) && /^https?:$/.test(new URL(endpoint).protocol))) {
    throw new UsageError('--s3-endpoint must be a URL that starts with http:// or https://.')
  }
  const { S3Client } = await loadDriver('@aws-sdk/client-s3', () => import('@aws-sdk/client-s3'))
  await loadDriver('@aws-sdk/s3-request-presigner', () => import('@aws-sdk/s3-request-presigner'))
  const { s3Storage } = (await import(S3_ENTRY)) as typeof S3Entry
  const client = new S3Client(
    endpoint === undefined
      ? {}
      : { endpoint, forcePathStyle: true, region: process.env['AWS_REGION'] || ANY_REGION },
  )
  try {
    const bucketName = names && ((bucket: string) => names.get(bucket) ?? bucket)
    const uploadHeaders = headers && Object.fromEntries(headers)
    const storage = withHeaders(() => s3Storage({ client, bucketName, createOnly, maxParts, uploadHeaders }))
    return await work({ ...contextOf(store), storage: mapStorageErrors(storage) })
  } finally {
    client.destroy()
  }
}

/** Turns the storage's `TypeError` about a header into a `UsageError`: the command has checked everything else. */
function withHeaders<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new UsageError(`--upload-header is invalid. ${error.message}`)
  }
}

/** Loads the `select` function of an import. @throws UsageError */
export async function loadSelect(file: string): Promise<SelectImport> {
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
