import { randomBytes } from 'node:crypto'
import { CreateBucketCommand, ListObjectsV2Command, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { describeWithServer } from '../../servers/describe-with-server.js'
import { decodedKey, removeBucket } from '../../servers/s3-buckets.js'

// Silences the SDK's deprecation warning about Node.js 20.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

export interface Account {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** A real S3 service. */
export interface S3Server {
  readonly endpoint: string
  readonly owner: Account
  /** An account without permissions except those of a bucket policy. `null` if the environment has no second account. */
  readonly guest: Account | null
}

/** Describes tests of a real S3 service. They are skipped visibly if there is none. */
export function describeS3(title: string, body: (server: S3Server) => void): void {
  describeWithServer('s3', title, (server) => body(serverAt(server)))
}

/** Reads the URL of a server, which contains its credentials. */
export function serverAt(text: string): S3Server {
  const url = new URL(text)
  const guest = url.searchParams.get('guest')
  return {
    endpoint: url.origin,
    owner: accountOf(`${url.username}:${url.password}`),
    guest: guest === null ? null : accountOf(guest),
  }
}

function accountOf(text: string): Account {
  const [accessKeyId = '', secretAccessKey = ''] = text.split(':').map(decodeURIComponent)
  return { accessKeyId, secretAccessKey }
}

/** Creates a client with the documented settings. It is destroyed after the tests of the file. */
export function clientOf({ endpoint, owner }: S3Server, options: S3ClientConfig = {}): S3Client {
  const client = new S3Client({
    endpoint,
    credentials: owner,
    region: 'us-east-1',
    forcePathStyle: true,
    ...options,
  })
  afterAll(() => client.destroy())
  return client
}

/** Creates a bucket for the tests of this block, and removes it with its content afterwards. */
export function freshBucket(client: S3Client): string {
  const bucket = freshName()
  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
  })
  afterAll(() => removeBucket(client, bucket))
  return bucket
}

/** Creates a bucket for the running test. */
export async function bucketOfTest(client: S3Client): Promise<string> {
  const bucket = freshName()
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  onTestFinished(() => removeBucket(client, bucket))
  return bucket
}

export function freshName(): string {
  return `svc-db-test-${randomBytes(8).toString('hex')}`
}

/** Lists all keys of a bucket. */
export async function keysIn(client: S3Client, bucket: string): Promise<string[]> {
  const keys: string[] = []
  let token: string | undefined
  do {
    const page = await client.send(
      new ListObjectsV2Command({ Bucket: bucket, EncodingType: 'url', ContinuationToken: token }),
    )
    keys.push(...(page.Contents ?? []).map(({ Key = '' }) => decodedKey(Key)))
    token = page.NextContinuationToken
  } while (token !== undefined)
  return keys
}
