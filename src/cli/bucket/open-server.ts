import {
  createS3Server,
  db,
  memoryStorage,
  type ObjectStorage,
  type S3ServerCore,
  type StorageObjectStore,
} from '../../index.js'
import type * as S3Entry from '../../storage/s3/s3-storage.js'
import { loadDriver } from '../databases/database-kind.js'
import { UsageError } from '../exit.js'
import type { EndpointOption } from './bucket-options.js'

/** The file of `@svc/db/s3`, next to that of the command. It is not part of it, because it can't be loaded without the SDK. */
const S3_ENTRY: string = './s3.js'

/** Services other than AWS ignore it, but the SDK requires one. */
const ANY_REGION = 'us-east-1'

/** Creates a server that runs jobs. It serves no requests, and its failures are in the results of the jobs. */
export function serverFor(store: StorageObjectStore, storage: ObjectStorage = memoryStorage()): S3ServerCore {
  return createS3Server({
    storage,
    bucket: 'unused',
    onError: () => undefined,
    plugins: [db({ client: store, resolveScope: () => null })],
  })
}

/**
 * Runs work on a server whose storage is S3, with the credentials and the region that the AWS SDK finds in the environment and in
 * its files.
 * @throws UsageError if the endpoint is not an http(s) URL or the SDK is not installed.
 */
export async function withBucket<T>(
  store: StorageObjectStore,
  { s3Endpoint: endpoint }: EndpointOption,
  work: (s3: S3ServerCore) => Promise<T>,
): Promise<T> {
  if (endpoint !== undefined && !/^https?:$/.test(protocolOf(endpoint))) {
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
    return await work(serverFor(store, s3Storage({ client })))
  } finally {
    client.destroy()
  }
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : ''
}
