import { join } from 'node:path'
import { diskStorage } from '@svc/db/disk'
import { s3Storage } from '@svc/db/s3'

/**
 * Where the demo keeps the bytes: in the bucket that S3_ENDPOINT and S3_BUCKET name, otherwise in files below the given
 * folder, signed URLs and all. `origin` is where the page reaches them, if that isn't the demo itself.
 */
export async function openStorage(folder) {
  const { S3_ENDPOINT, S3_BUCKET } = process.env
  if (S3_ENDPOINT || S3_BUCKET) return bucketOfS3(S3_ENDPOINT, S3_BUCKET)
  const directory = join(folder, 'bytes')
  return { name: `files in ${directory}`, storage: diskStorage({ directory }), bucket: 'demo', origin: null }
}

async function bucketOfS3(endpoint, bucket) {
  if (!endpoint || !bucket) throw new Error('S3_ENDPOINT and S3_BUCKET must be set both, or neither.')
  if (!URL.canParse(endpoint)) throw new Error('S3_ENDPOINT must be a URL such as https://s3.example.com.')
  const { origin, username } = new URL(endpoint)
  // What the demo prints of an endpoint must be no secret.
  if (username) throw new Error('S3_ENDPOINT must hold no credentials: set AWS_ACCESS_KEY_ID and the like.')
  // Loaded where it is used: an application installs only the SDK that it needs.
  const { S3Client } = await import('@aws-sdk/client-s3')
  const client = new S3Client({
    endpoint,
    region: process.env.AWS_REGION || 'us-east-1',
    forcePathStyle: true,
    // The SDK finds the credentials by itself: in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in a profile.
  })
  const storage = s3Storage({ client, timeoutSeconds: 10 })
  const name = `the bucket ${bucket} at ${origin}`
  try {
    // Whether bucket and credentials are what they should be, before anybody uploads to it.
    await storage.head({ bucket, key: 'is the bucket there?' })
  } catch (error) {
    throw new Error(`Can't use ${name}: ${error.message}`, { cause: error })
  }
  return { name, storage, bucket, origin }
}

/** What a browser may send to the bucket from a page of this origin, as `PutBucketCors` takes it. */
export function corsFor(pageOrigin) {
  return {
    CORSRules: [
      {
        AllowedOrigins: [pageOrigin],
        AllowedMethods: ['GET', 'PUT'],
        AllowedHeaders: ['*'],
      },
    ],
  }
}

/** Whether the bucket would take an upload from a page of this origin. Its settings are its owner's, and left alone. */
export async function allowsUploadsFrom(pageOrigin, { origin, bucket }) {
  const preflight = {
    origin: pageOrigin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type,if-none-match',
  }
  const answer = await fetch(`${origin}/${bucket}/upload`, { method: 'OPTIONS', headers: preflight })
  await answer.body?.cancel()
  const allowed = answer.headers.get('access-control-allow-origin')
  return answer.ok && (allowed === '*' || allowed === pageOrigin)
}
