import { join } from 'node:path'

/**
 * Opens the storage for the bytes: the bucket that S3_ENDPOINT and S3_BUCKET name, otherwise files below the given folder,
 * with signed URLs as well. `origin` is the bucket's origin; `null`: the demo serves the bytes itself. Prints what the bucket lacks
 * to accept uploads from a page of `pageOrigin`.
 */
export async function openStorage(folder, pageOrigin) {
  const { S3_ENDPOINT, S3_BUCKET } = process.env
  if (S3_ENDPOINT || S3_BUCKET) {
    const opened = await openBucket(S3_ENDPOINT, S3_BUCKET)
    if (!(await allowsUploadsFrom(pageOrigin, opened).catch(() => false))) {
      console.error(`The bucket doesn't allow uploads from this page. Set this CORS configuration on it:`)
      console.error(JSON.stringify(corsFor(pageOrigin), null, 2))
    }
    return opened
  }
  const { diskStorage } = await import('@svc/db/disk')
  const directory = join(folder, 'bytes')
  return { name: `files in ${directory}`, storage: diskStorage({ directory }), bucket: 'demo', origin: null }
}

async function openBucket(endpoint, bucket) {
  if (!endpoint || !bucket) throw new Error('S3_ENDPOINT and S3_BUCKET must be set together.')
  if (!URL.canParse(endpoint)) throw new Error('S3_ENDPOINT must be a URL such as https://s3.example.com.')
  const { origin, username } = new URL(endpoint)
  // The demo prints the endpoint.
  if (username) {
    throw new Error(
      'S3_ENDPOINT must not contain credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead.',
    )
  }
  // Imported here because loading the SDK takes a while.
  const [{ S3Client }, { s3Storage }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('@svc/db/s3'),
  ])
  const client = new S3Client({
    endpoint,
    region: process.env.AWS_REGION || 'us-east-1',
    forcePathStyle: true,
    // The SDK reads the credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from a profile.
  })
  const storage = s3Storage({ client, timeoutSeconds: 10 })
  const name = `the bucket ${bucket} at ${origin}`
  try {
    // Checks bucket and credentials before the first upload.
    await storage.head({ bucket, key: 'is the bucket there?' })
  } catch (error) {
    throw new Error(`Can't use ${name}: ${error.message}`, { cause: error })
  }
  return { name, storage, bucket, origin }
}

/** Returns the CORS rules that let a page of this origin upload, in the form that `PutBucketCors` takes. */
function corsFor(pageOrigin) {
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

/** Returns whether the bucket accepts uploads from a page of this origin. Never changes the bucket's settings. */
async function allowsUploadsFrom(pageOrigin, { origin, bucket }) {
  const preflight = {
    origin: pageOrigin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'content-type,if-none-match',
  }
  const response = await fetch(`${origin}/${bucket}/upload`, { method: 'OPTIONS', headers: preflight })
  await response.body?.cancel()
  const allowed = response.headers.get('access-control-allow-origin')
  return response.ok && (allowed === '*' || allowed === pageOrigin)
}
