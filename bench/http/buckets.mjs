import { HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { s3Storage } from '@svc/db/s3'
import { bucket } from './listed-scope.mjs'
import { FILE, URL_SECONDS } from './uploads-by-hand.mjs'

// Silences the SDK's deprecation warning about Node.js 20.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true'

/** Creates a client with the settings of docs/s3.md. Both routes of a server share one, and its open connections. */
export function s3Client({ endpoint, credentials }) {
  return new S3Client({
    endpoint,
    credentials,
    region: 'us-east-1',
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: 2_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  })
}

/** The headers that upload URLs are signed for, on both sides. */
const SIGNED_HEADERS = new Set(['content-length', 'content-type', 'if-none-match', 'x-amz-meta-attempt-id'])

/** Returns a real bucket: `storage` for the library, and the same two calls by hand. */
export function realBucket(connection) {
  const client = s3Client(connection)
  return {
    storage: s3Storage({ client }),

    async signUpload({ key, size, contentType, attemptId }) {
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        ContentLength: size,
        ContentType: contentType,
        IfNoneMatch: '*',
        Metadata: { 'attempt-id': attemptId },
      })
      const url = await getSignedUrl(client, command, {
        expiresIn: URL_SECONDS,
        signableHeaders: SIGNED_HEADERS,
        unhoistableHeaders: SIGNED_HEADERS,
      })
      return { method: 'PUT', url, headers: headersOf(contentType, attemptId) }
    },

    async head({ key }) {
      const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
      return { size: found.ContentLength, eTag: found.ETag, attemptId: found.Metadata?.['attempt-id'] }
    },
  }
}

/** Returns a bucket that makes no requests and signs no URLs. It holds an object for every attempt. */
export function stubBucket() {
  const storage = {
    signUpload: async ({ key, contentType, attemptId }) => ({
      method: 'PUT',
      url: `https://bucket.example/${key}?signature`,
      headers: headersOf(contentType, attemptId),
    }),
    signDownload: () => Promise.reject(new Error('The benchmark downloads nothing.')),
    async head({ key }) {
      const { size, contentType } = FILE
      return { size, contentType, eTag: 'e', attemptId: key.slice(key.indexOf('~') + 1) }
    },
    remove: () => Promise.reject(new Error('The benchmark removes nothing.')),
  }
  const { signUpload, head } = storage
  return { storage, signUpload, head }
}

function headersOf(contentType, attemptId) {
  return { 'content-type': contentType, 'if-none-match': '*', 'x-amz-meta-attempt-id': attemptId }
}
