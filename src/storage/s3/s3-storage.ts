import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import type { ObjectStorage } from '../../core/object-storage.js'
import { ATTEMPT_HEADER, ATTEMPT_METADATA } from '../headers/attempt-header.js'
import { downloadHeaders } from '../headers/download-headers.js'
import { bucketCalls } from './bucket-calls.js'
import { createS3Multipart } from './s3-multipart.js'
import { shortFilename } from './short-filename.js'
import { signedUrl } from './signed-requests.js'
import { checkOptions, type S3StorageOptions } from './storage-options.js'
import { storedObject } from './stored-object.js'

/**
 * A bucket service that speaks S3, by a client of the AWS SDK v3. Every bucket that the client may use can be named.
 *
 * Each call ends within `timeoutSeconds`. What the bucket service refuses, and what can't be reached, rejects with an
 * `Error` that names the call and the bucket; the error of the SDK is its `cause`.
 *
 * @throws TypeError for a `client` that is none, a timeout that is no number of seconds, and a `now` that is no function.
 */
export function s3Storage(options: S3StorageOptions): ObjectStorage {
  const { client, now, timeoutSeconds, completeTimeoutSeconds } = checkOptions(options)
  const run = bucketCalls(timeoutSeconds)

  return {
    async signUpload(input) {
      const { bucket, key, size, contentType, attemptId, expiresAt } = input
      const headers = { 'content-type': contentType, 'if-none-match': '*', [ATTEMPT_HEADER]: attemptId }
      const command = new PutObjectCommand({
        Bucket: bucket,
        Key: key,
        ContentLength: size,
        ContentType: contentType,
        IfNoneMatch: '*',
        Metadata: { [ATTEMPT_METADATA]: attemptId },
      })
      // A browser sets the length by itself, and lets nobody else do so.
      const boundHeaders = ['content-length', ...Object.keys(headers)]
      const request = { command, boundHeaders, expiresAt }
      const url = await run('signUpload', input, () => signedUrl(client, request, now))
      return { method: 'PUT', url, headers }
    },

    async signDownload(input) {
      const { filename, contentType } = input
      const headers = downloadHeaders({ filename: shortFilename(filename), contentType })
      const command = new GetObjectCommand({
        Bucket: input.bucket,
        Key: input.key,
        ResponseCacheControl: headers['cache-control'],
        ResponseContentDisposition: headers['content-disposition'],
        ResponseContentType: headers['content-type'],
      })
      const request = { command, boundHeaders: [], expiresAt: input.expiresAt }
      return { url: await run('signDownload', input, () => signedUrl(client, request, now)) }
    },

    head: (reference) =>
      run('head', reference, (abortSignal) => storedObject(client, reference, abortSignal)),

    async remove(reference) {
      const command = new DeleteObjectCommand({ Bucket: reference.bucket, Key: reference.key })
      await run('remove', reference, (abortSignal) => client.send(command, { abortSignal }))
    },

    multipart: createS3Multipart({ client, now, run, completeTimeoutSeconds }),
  }
}
