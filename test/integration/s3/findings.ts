import type { S3Client } from '@aws-sdk/client-s3'
import { createS3Server, db, type Finding, type S3ServerOptions } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { s3Storage, type S3StorageOptions } from '@svc/db/s3'
import { expect } from 'vitest'

interface FindingsOptions extends Partial<S3StorageOptions> {
  readonly origin?: string
  readonly server?: Partial<S3ServerOptions>
}

/** Returns what `s3.verify` finds in a bucket. */
export function findingsOf(
  client: S3Client,
  bucket: string,
  { origin, server, ...options }: FindingsOptions = {},
): Promise<readonly Finding[]> {
  const storage = s3Storage({ client, ...options })
  const plugins = [db({ client: memoryAdapter(), resolveScope: () => null })]
  return createS3Server({ ...server, storage, bucket, plugins }).verify({ origin })
}

/** Expects one finding, in one sentence. */
export function only(part: Finding['part'], message: RegExp) {
  return [{ part, message: expect.stringMatching(message) as string }]
}
