import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import { expect, inject, vi } from 'vitest'
import { removeBucket } from '../../../servers/s3-buckets.js'
import type { SnippetCheck } from '../programs.js'

/** An empty bucket of the S3 service of the tests. The environment names it. */
export interface BucketOfTests {
  readonly bucket: string
  /** Origin of the service. */
  readonly origin: string
}

/** Runs a check with a bucket that must have no bytes at the end. Only warns if there is no S3 service. */
export function withBucket(
  title: string,
  check: (program: string, place: BucketOfTests) => Promise<void>,
): SnippetCheck {
  return async (program) => {
    const server = inject('s3')
    if (server.url === null) return console.warn(`Not run: ${title}. There is ${server.reason}`)
    const { origin, username, password } = new URL(server.url)
    const bucket = `svc-db-docs-${crypto.randomUUID()}`
    const settings = {
      AWS_ENDPOINT_URL_S3: origin,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: decodeURIComponent(username),
      AWS_SECRET_ACCESS_KEY: decodeURIComponent(password),
      AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
      S3_PATH_STYLE: 'true',
      S3_BUCKET: bucket,
    }
    for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
    const client = new S3Client({ forcePathStyle: true })
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    await check(program, { bucket, origin })
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
    // Empty objects keep the upload URLs of deleted ones from writing again.
    expect(Contents.filter(({ Size }) => Size !== 0)).toEqual([])
    await removeBucket(client, bucket)
    client.destroy()
  }
}
