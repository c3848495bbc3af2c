import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import type { ObjectStorage } from '../../core/object-storage.js'
import { downloadHeaders } from '../headers/download-headers.js'
import { shortFilename } from '../headers/short-filename.js'
import { ATTEMPT_METADATA, uploadHeaders } from '../headers/upload-headers.js'
import { bucketCalls } from './bucket-calls.js'
import { directBytes } from './direct-bytes.js'
import { headObject } from './head-object.js'
import { listObjects } from './list-objects.js'
import { createS3Multipart } from './s3-multipart.js'
import { urlSigner } from './signed-requests.js'
import { checkOptions, type S3StorageOptions } from './storage-options.js'
import { urlLifetimes } from './url-lifetime.js'

/**
 * Creates an object storage on S3 or a compatible service, with a client of the AWS SDK v3. It can use every bucket that the
 * client can access.
 *
 * Each call ends within `timeoutSeconds`. If the service refuses a call or can't be reached, the call rejects with an
 * `Error` that names the call and the bucket, and has the SDK's error as its `cause`.
 *
 * @throws TypeError if `client` is not an S3Client, a timeout is not a number of seconds, or `now` is not a function.
 */
export function s3Storage(options: S3StorageOptions): ObjectStorage {
  const { client, now, timeoutSeconds, completeTimeoutSeconds } = checkOptions(options)
  const run = bucketCalls(timeoutSeconds)
  const { write, writePart, read } = directBytes(client, run, timeoutSeconds)
  const signUrl = urlSigner(client, urlLifetimes(client, now))

  return {
    async signUpload(input) {
      const { bucket, key, size, contentType, attemptId, expiresAt } = input
      const headers = uploadHeaders(input)
      const url = await run('signUpload', input, () =>
        signUrl({
          ...{ operation: 'PutObject', bucket, key, expiresAt, query: {} },
          // Browsers set the length themselves and do not let scripts set it.
          headers: { 'content-length': String(size), ...headers },
          command: () =>
            new PutObjectCommand({
              Bucket: bucket,
              Key: key,
              ContentLength: size,
              ContentType: contentType,
              IfNoneMatch: '*',
              Metadata: { [ATTEMPT_METADATA]: attemptId },
            }),
        }),
      )
      return { method: 'PUT', url, headers }
    },

    async signDownload(input) {
      const headers = downloadHeaders({ ...input, filename: shortFilename(input.filename) })
      const { bucket, key, expiresAt, signedAt } = input
      const query = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [`response-${name}`, value]),
      )
      const url = await run('signDownload', input, () =>
        signUrl({
          ...{ operation: 'GetObject', bucket, key, expiresAt, signedAt, query, headers: {} },
          command: () =>
            new GetObjectCommand({
              Bucket: bucket,
              Key: key,
              ResponseCacheControl: headers['cache-control'],
              ResponseContentDisposition: headers['content-disposition'],
              ResponseContentType: headers['content-type'],
            }),
        }),
      )
      return { url }
    },

    head: (reference) => run('head', reference, (abortSignal) => headObject(client, reference, abortSignal)),

    async remove(reference) {
      const command = new DeleteObjectCommand({ Bucket: reference.bucket, Key: reference.key })
      await run('remove', reference, (abortSignal) => client.send(command, { abortSignal }))
    },

    write,
    read,

    list: (input) => run('list', input, (abortSignal) => listObjects(client, input, abortSignal)),

    multipart: { ...createS3Multipart({ client, signUrl, run, completeTimeoutSeconds }), writePart },
  }
}
