import { randomBytes } from 'node:crypto'
import {
  CreateBucketCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  ListPartsCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { removeBucket } from '../servers/s3-buckets.js'

// The SDK warns on Node 20 that it will require a newer version.
process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'

/** A bucket for a demo, and the settings that select it. */
export interface DemoBucket {
  readonly name: string
  readonly client: S3Client
  readonly settings: Readonly<
    Record<'S3_ENDPOINT' | 'S3_BUCKET' | 'AWS_ACCESS_KEY_ID' | 'AWS_SECRET_ACCESS_KEY', string>
  >
  /** Sizes of all objects in bytes. */
  sizes(): Promise<number[]>
  /** Numbers of the stored parts of each pending multipart upload. */
  pendingParts(): Promise<number[][]>
  remove(): Promise<void>
}

/** Creates a bucket. `serverUrl` contains the credentials. */
export async function openBucket(serverUrl: string): Promise<DemoBucket> {
  const { origin, username, password } = new URL(serverUrl)
  const name = `svc-db-demo-${randomBytes(8).toString('hex')}`
  const client = new S3Client({
    endpoint: origin,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) },
  })
  await client.send(new CreateBucketCommand({ Bucket: name }))
  return {
    name,
    client,
    settings: {
      S3_ENDPOINT: origin,
      S3_BUCKET: name,
      AWS_ACCESS_KEY_ID: decodeURIComponent(username),
      AWS_SECRET_ACCESS_KEY: decodeURIComponent(password),
    },
    async sizes() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }))
      // Empty objects keep the upload URLs of deleted ones from writing again.
      return Contents.map(({ Size = 0 }) => Size).filter((size) => size > 0)
    },
    async pendingParts() {
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }))
      const pages = Uploads.map(({ Key, UploadId }) =>
        client.send(new ListPartsCommand({ Bucket: name, Key, UploadId })),
      )
      return (await Promise.all(pages)).map(({ Parts = [] }) => Parts.map(({ PartNumber = 0 }) => PartNumber))
    },
    async remove() {
      await removeBucket(client, name)
      client.destroy()
    },
  }
}
