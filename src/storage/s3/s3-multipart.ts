import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListPartsCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type {
  ListPartsInput,
  MultipartReference,
  MultipartStorage,
  PartsPage,
} from '../../core/object-storage.js'
import { ATTEMPT_METADATA } from '../headers/upload-headers.js'
import { bucketCalls, type RunBucketCall } from './bucket-calls.js'
import { isInvalidPart, isNoSuchUpload, isServerError } from './s3-errors.js'
import { listUploads } from './list-uploads.js'
import type { SignUrl } from './signed-requests.js'

export interface S3MultipartOptions {
  readonly client: S3Client
  readonly signUrl: SignUrl
  readonly run: RunBucketCall
  readonly completeTimeoutSeconds: number
}

/** Creates the multipart half of the storage. */
export function createS3Multipart(options: S3MultipartOptions): MultipartStorage {
  const { client, signUrl, run, completeTimeoutSeconds } = options
  const runComplete = bucketCalls(completeTimeoutSeconds)

  async function listParts(
    { after, ...reference }: ListPartsInput,
    abortSignal: AbortSignal,
  ): Promise<PartsPage | null> {
    const command = new ListPartsCommand({ ...uploadParams(reference), PartNumberMarker: String(after) })
    const page = await client.send(command, { abortSignal }).catch(nullForNoSuchUpload)
    if (page === null) return null
    const parts = (page.Parts ?? []).map(({ PartNumber, Size, ETag }) => {
      if (PartNumber === undefined || Size === undefined || !ETag) throw incomplete()
      return { partNumber: PartNumber, size: Size, eTag: ETag }
    })
    const last = parts.at(-1)
    if (page.IsTruncated !== true) return { parts, next: null }
    // Avoids an endless loop with a service that ignores the marker.
    if (last === undefined || last.partNumber <= after) throw incomplete()
    return { parts, next: last.partNumber }
  }

  return {
    create(input) {
      return run('multipart.create', input, async (abortSignal) => {
        const command = new CreateMultipartUploadCommand({
          Bucket: input.bucket,
          Key: input.key,
          ContentType: input.contentType,
          Metadata: { [ATTEMPT_METADATA]: input.attemptId },
        })
        const { UploadId: uploadId, $metadata } = await client.send(command, { abortSignal })
        if (!uploadId) throw incomplete()
        // If a retry started a second upload, the id of the first one is unknown. Reject, because the server then looks for
        // all uploads to the key.
        const repeated = ($metadata.attempts ?? 1) > 1
        if (repeated && (await listUploads(client, input, abortSignal)).length > 1) throw startedTwice()
        return { uploadId }
      })
    },

    async signPart(input) {
      const { bucket, key, uploadId, partNumber, size, expiresAt } = input
      const url = await run('multipart.signPart', input, () =>
        signUrl({
          ...{ operation: 'UploadPart', bucket, key, expiresAt },
          headers: { 'content-length': String(size) },
          query: { partNumber: String(partNumber), uploadId },
          command: () =>
            new UploadPartCommand({ ...uploadParams(input), PartNumber: partNumber, ContentLength: size }),
        }),
      )
      return { url }
    },

    listParts: (input) => run('multipart.listParts', input, (abortSignal) => listParts(input, abortSignal)),

    complete(input) {
      return runComplete('multipart.complete', input, async (abortSignal) => {
        const Parts = input.parts.map(({ partNumber, eTag }) => ({ PartNumber: partNumber, ETag: eTag }))
        const command = new CompleteMultipartUploadCommand({
          ...uploadParams(input),
          MultipartUpload: { Parts },
        })
        // Overrides the client's own timeout, which may be shorter.
        const requestTimeout = completeTimeoutSeconds * 1000
        try {
          await client.send(command, { abortSignal, requestTimeout })
          return true
        } catch (error) {
          if (isNoSuchUpload(error) || isInvalidPart(error)) return false
          // Ceph responds with a server error if the upload has ended, for example by an earlier try of this call.
          if (isServerError(error) && (await listParts({ ...input, after: 0 }, abortSignal)) === null)
            return false
          throw error
        }
      })
    },

    async abort(reference) {
      const command = new AbortMultipartUploadCommand(uploadParams(reference))
      await run('multipart.abort', reference, (abortSignal) =>
        client.send(command, { abortSignal }).catch(nullForNoSuchUpload),
      )
    },

    list: (reference) =>
      run('multipart.list', reference, (abortSignal) => listUploads(client, reference, abortSignal)),
  }
}

function uploadParams({ bucket, key, uploadId }: MultipartReference) {
  return { Bucket: bucket, Key: key, UploadId: uploadId }
}

function nullForNoSuchUpload(error: unknown): null {
  if (isNoSuchUpload(error)) return null
  throw error
}

function startedTwice(): Error {
  return new Error('a retry has started a second upload')
}

function incomplete(): Error {
  return new Error('the response lacks fields that S3 guarantees')
}
