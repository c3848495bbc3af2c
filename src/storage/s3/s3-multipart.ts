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
import { ATTEMPT_METADATA } from '../headers/attempt-header.js'
import { bucketCalls, type RunBucketCall } from './bucket-calls.js'
import { isInvalidPart, isNoSuchUpload, isServerError } from './bucket-failures.js'
import { signedUrl } from './signed-requests.js'
import { uploadsUnderKey } from './uploads-under-key.js'

export interface S3MultipartParts {
  readonly client: S3Client
  readonly now: () => Date
  readonly run: RunBucketCall
  readonly completeTimeoutSeconds: number
}

/** The half of the storage that uploads in parts. */
export function createS3Multipart(parts: S3MultipartParts): MultipartStorage {
  const { client, now, run, completeTimeoutSeconds } = parts
  const runComplete = bucketCalls(completeTimeoutSeconds)

  async function listParts(
    { after, ...reference }: ListPartsInput,
    abortSignal: AbortSignal,
  ): Promise<PartsPage | null> {
    const command = new ListPartsCommand({ ...named(reference), PartNumberMarker: String(after) })
    const page = await client.send(command, { abortSignal }).catch(nullForNoSuchUpload)
    if (page === null) return null
    const parts = (page.Parts ?? []).map(({ PartNumber, Size, ETag }) => {
      if (PartNumber === undefined || Size === undefined || !ETag) throw incomplete()
      return { partNumber: PartNumber, size: Size, eTag: ETag }
    })
    const last = parts.at(-1)
    if (page.IsTruncated !== true) return { parts, next: null }
    // A service that ignores where the page is to begin would be asked for ever.
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
        // Of two uploads nobody would know the first; of a call that failed, whatever lies under the key is looked for.
        const repeated = ($metadata.attempts ?? 1) > 1
        if (repeated && (await uploadsUnderKey(client, input, abortSignal)).length > 1) throw twice()
        return { uploadId }
      })
    },

    async signPart(input) {
      const command = new UploadPartCommand({
        ...named(input),
        PartNumber: input.partNumber,
        ContentLength: input.size,
      })
      const request = { command, boundHeaders: ['content-length'], expiresAt: input.expiresAt }
      return { url: await run('multipart.signPart', input, () => signedUrl(client, request, now)) }
    },

    listParts: (input) => run('multipart.listParts', input, (abortSignal) => listParts(input, abortSignal)),

    complete(input) {
      return runComplete('multipart.complete', input, async (abortSignal) => {
        const Parts = input.parts.map(({ partNumber, eTag }) => ({ PartNumber: partNumber, ETag: eTag }))
        const command = new CompleteMultipartUploadCommand({ ...named(input), MultipartUpload: { Parts } })
        // The client may be set to wait less long for an answer.
        const requestTimeout = completeTimeoutSeconds * 1000
        try {
          await client.send(command, { abortSignal, requestTimeout })
          return true
        } catch (error) {
          if (isNoSuchUpload(error) || isInvalidPart(error)) return false
          // Ceph answers with an error of its own where the upload has ended, by an earlier try of this very call perhaps.
          if (isServerError(error) && (await listParts({ ...input, after: 0 }, abortSignal)) === null)
            return false
          throw error
        }
      })
    },

    async abort(reference) {
      const command = new AbortMultipartUploadCommand(named(reference))
      await run('multipart.abort', reference, (abortSignal) =>
        client.send(command, { abortSignal }).catch(nullForNoSuchUpload),
      )
    },

    list: (reference) =>
      run('multipart.list', reference, (abortSignal) => uploadsUnderKey(client, reference, abortSignal)),
  }
}

function named({ bucket, key, uploadId }: MultipartReference) {
  return { Bucket: bucket, Key: key, UploadId: uploadId }
}

function nullForNoSuchUpload(error: unknown): null {
  if (isNoSuchUpload(error)) return null
  throw error
}

function twice(): Error {
  return new Error('a try whose answer was lost has begun an upload as well')
}

function incomplete(): Error {
  return new Error('the answer lacks what S3 promises')
}
