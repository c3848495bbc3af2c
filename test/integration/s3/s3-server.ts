import { randomBytes } from 'node:crypto'
import { CreateBucketCommand, ListObjectsV2Command, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { describeWithServer } from '../../servers/describe-with-server.js'
import { decodedKey, removeBucket } from '../../servers/s3-buckets.js'

// The SDK tells every process on Node 20 that it will want a newer one some day.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

export interface Account {
  readonly accessKeyId: string
  readonly secretAccessKey: string
}

/** A real S3 service. */
export interface S3Server {
  readonly endpoint: string
  readonly owner: Account
  /** May do nothing until a bucket's policy allows it; `null` where the tests were given no such account. */
  readonly guest: Account | null
}

/** The service of the tests, or a visible skip where there is none. */
export function describeS3(title: string, body: (server: S3Server) => void): void {
  describeWithServer('s3', title, (server) => {
    const url = new URL(server)
    const guest = url.searchParams.get('guest')
    body({
      endpoint: url.origin,
      owner: accountOf(`${url.username}:${url.password}`),
      guest: guest === null ? null : accountOf(guest),
    })
  })
}

function accountOf(text: string): Account {
  const [accessKeyId = '', secretAccessKey = ''] = text.split(':').map(decodeURIComponent)
  return { accessKeyId, secretAccessKey }
}

/** A client as the documentation recommends it; it ends with the tests of the file. */
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

/** A bucket of the tests that are being described, which goes with all that is in it. */
export function freshBucket(client: S3Client): string {
  const bucket = freshName()
  beforeAll(async () => {
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
  })
  afterAll(() => removeBucket(client, bucket))
  return bucket
}

/** A bucket of the test that runs. */
export async function bucketOfTest(client: S3Client): Promise<string> {
  const bucket = freshName()
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  onTestFinished(() => removeBucket(client, bucket))
  return bucket
}

export function freshName(): string {
  return `svc-db-test-${randomBytes(8).toString('hex')}`
}

/** All keys under which something lies. */
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
