import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type {
  BytesReference,
  ListPartsInput,
  MultipartReference,
  MultipartStorage,
  PartsPage,
} from '../../core/object-storage.js'
import {
  decodeKey,
  incompleteResponse,
  removeChecksums,
  responseOf,
  secondsToSend,
  valueIf,
  type RunBucketCall,
  type Send,
} from './calls.js'
import { newObject } from './objects.js'
import type { SignUrl } from './signing.js'
import type { UploadSettings } from './upload-headers.js'

/** Bounds the memory of a server with a bucket per tenant. */
const MOST_BUCKETS = 1000

interface MultipartSettings
  extends
    Pick<UploadSettings, 'parameters'>,
    Record<'timeoutSeconds' | 'completeTimeoutSeconds' | 'maxParts', number> {}

export function s3Multipart(
  client: S3Client,
  run: RunBucketCall,
  signUrl: SignUrl,
  { timeoutSeconds, completeTimeoutSeconds, maxParts, parameters }: MultipartSettings,
): MultipartStorage {
  /** The buckets whose service is known to list parts. */
  const listing = new Set<string>()

  /** Lists the parts of the first upload to a bucket, before any are sent. @throws Error without leaving the upload. */
  async function checkParts(send: Send, reference: MultipartReference): Promise<void> {
    const { bucket } = reference
    if (listing.has(bucket)) return
    const page = await listParts(send, { ...reference, after: 0 }).catch(valueIf(isUnsupported, null))
    if (page === null) {
      await send(new AbortMultipartUploadCommand(uploadParams(reference))).catch(() => undefined)
      throw new Error('the service does not support ListParts, which uploads in parts need')
    }
    if (listing.size >= MOST_BUCKETS) listing.clear()
    listing.add(bucket)
  }

  return {
    maxParts,

    create: (input) =>
      run('multipart.create', input, async (send) => {
        const command = new CreateMultipartUploadCommand(newObject(input, parameters))
        const { UploadId: uploadId, $metadata } = await send(command)
        if (!uploadId) throw incompleteResponse('the UploadId')
        await checkParts(send, { ...input, uploadId })
        // If a retry started a second upload, the first one's id is unknown. The server then looks for all uploads to the key.
        const repeated = (($metadata as Partial<typeof $metadata> | undefined)?.attempts ?? 1) > 1
        if (repeated && (await listUploads(send, input)).length > 1) {
          throw new Error('a retry has started a second upload')
        }
        return { uploadId }
      }),

    signPart(input) {
      const { bucket, key, uploadId, partNumber, size, expiresAt } = input
      return run('multipart.signPart', input, () =>
        signUrl({
          ...{ operation: 'UploadPart', bucket, key, expiresAt },
          headers: { 'content-length': String(size) },
          query: { partNumber: String(partNumber), uploadId },
          command: () =>
            new UploadPartCommand({ ...uploadParams(input), PartNumber: partNumber, ContentLength: size }),
        }),
      )
    },

    writePart: (input) =>
      run(
        'multipart.writePart',
        input,
        async (send) => {
          const command = new UploadPartCommand({
            ...uploadParams(input),
            PartNumber: input.partNumber,
            Body: input.body,
            ContentLength: input.body.byteLength,
            ContentMD5: await digestOf(client, input.body),
          })
          removeChecksums(command)
          const part = await send(command).catch(valueIf(isNoSuchUpload, null))
          if (part && !part.ETag) throw incompleteResponse('the ETag of the part')
          return part?.ETag ?? null
        },
        secondsToSend(input.body, timeoutSeconds),
      ),

    listParts: (input) => run('multipart.listParts', input, listParts),

    complete(input) {
      const Parts = input.parts.map(({ partNumber, eTag }) => ({ PartNumber: partNumber, ETag: eTag }))
      const command = new CompleteMultipartUploadCommand({
        ...uploadParams(input),
        MultipartUpload: { Parts },
      })
      const complete = async (send: Send) => {
        try {
          await send(command)
          return true
        } catch (error) {
          const { status = 0, name } = responseOf(error)
          // A part is missing or has another ETag.
          if (isNoSuchUpload(error) || name === 'InvalidPart') return false
          // Ceph responds with a server error if the upload has ended, for example by an earlier try of this call.
          const hasEnded = async () => (await listParts(send, { ...input, after: 0 })) === null
          if (status >= 500 && (await hasEnded())) return false
          throw error
        }
      }
      return run('multipart.complete', input, complete, completeTimeoutSeconds)
    },

    async abort(reference) {
      const command = new AbortMultipartUploadCommand(uploadParams(reference))
      await run('multipart.abort', reference, (send) => send(command).catch(valueIf(isNoSuchUpload, null)))
    },

    list: (reference) => run('multipart.list', reference, listUploads),
  }
}

function uploadParams({ bucket, key, uploadId }: MultipartReference) {
  return { Bucket: bucket, Key: key, UploadId: uploadId }
}

/** Returns the MD5 of a part if the client adds checksums, as buckets with a retention require. Every upload accepts an MD5. */
async function digestOf({ config }: S3Client, body: Uint8Array): Promise<string | undefined> {
  if ((await config.requestChecksumCalculation?.()) !== 'WHEN_SUPPORTED') return undefined
  const hash = new config.md5()
  hash.update(body)
  return config.base64Encoder(await hash.digest())
}

/** Returns whether the service doesn't have an operation. */
function isUnsupported(error: unknown): boolean {
  const { status } = responseOf(error)
  return status === 405 || status === 501
}

/** Returns whether the upload does not exist. Ceph responds with NoSuchKey to some calls. */
function isNoSuchUpload(error: unknown): boolean {
  const { name } = responseOf(error)
  return name === 'NoSuchUpload' || name === 'NoSuchKey'
}

async function listParts(send: Send, { after, ...reference }: ListPartsInput): Promise<PartsPage | null> {
  const command = new ListPartsCommand({ ...uploadParams(reference), PartNumberMarker: String(after) })
  const page = await send(command).catch(valueIf(isNoSuchUpload, null))
  if (page === null) return null
  const parts = (page.Parts ?? []).map(({ PartNumber, Size, ETag }) => {
    if (PartNumber === undefined || Size === undefined || !ETag) throw incompleteResponse()
    return { partNumber: PartNumber, size: Size, eTag: ETag }
  })
  const last = parts.at(-1)
  if (page.IsTruncated !== true) return { parts, next: null }
  // Avoids an endless loop with a service that ignores the marker.
  if (last === undefined || last.partNumber <= after) throw incompleteResponse()
  return { parts, next: last.partNumber }
}

/** Lists the ids of the uploads to exactly this key, not always in order. Returns none where the service has no such list. */
async function listUploads(send: Send, { bucket, key }: BytesReference): Promise<readonly string[]> {
  const ids: string[] = []
  let position: { readonly KeyMarker?: string; readonly UploadIdMarker?: string | undefined } = {}
  for (;;) {
    const command = new ListMultipartUploadsCommand({
      Bucket: bucket,
      Prefix: key,
      // XML can't represent some characters that keys may contain.
      EncodingType: 'url',
      ...position,
    })
    const page = await send(command).catch(valueIf(isUnsupported, null))
    if (page === null) return ids
    for (const { Key = '', UploadId } of page.Uploads ?? []) {
      // Ceph encodes keys without reporting it, and other services don't encode at all.
      if (UploadId && (Key === key || decodeKey(Key) === key)) ids.push(UploadId)
    }
    if (page.IsTruncated !== true) return ids
    const { NextKeyMarker = '', NextUploadIdMarker: UploadIdMarker } = page
    const KeyMarker = page.EncodingType === 'url' ? decodeKey(NextKeyMarker) : NextKeyMarker
    // As in listParts.
    if (KeyMarker === position.KeyMarker && UploadIdMarker === position.UploadIdMarker)
      throw incompleteResponse()
    position = { KeyMarker, UploadIdMarker }
  }
}
