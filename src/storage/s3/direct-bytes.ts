import {
  GetObjectCommand,
  PutObjectCommand,
  UploadPartCommand,
  type GetObjectCommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { ObjectStorage, WritePartInput } from '../../core/object-storage.js'
import { ATTEMPT_METADATA } from '../headers/upload-headers.js'
import { bucketCalls, type RunBucketCall } from './bucket-calls.js'
import { isNoSuchKey, isNoSuchUpload, isPreconditionFailed } from './s3-errors.js'
import { removeChecksums } from './signed-requests.js'

/** The slowest connection to the bucket that a write allows for, in bytes per second. */
const SLOWEST_CONNECTION = 256 * 1024

/** The limit of `setTimeout`, in seconds. */
const MAX_SECONDS = 2_147_483

/** Runs a call that sends bytes. It may take longer than others, by the time that the bytes need. */
type RunWrite = <T>(
  operation: string,
  input: WritePartInput | Parameters<NonNullable<ObjectStorage['write']>>[0],
  call: (options: { abortSignal: AbortSignal; requestTimeout: number }) => Promise<T>,
) => Promise<T>

/** The calls that move bytes between this process and the bucket. */
export function directBytes(client: S3Client, run: RunBucketCall, timeoutSeconds: number) {
  const runWrite: RunWrite = (operation, input, call) => {
    const seconds = Math.min(
      timeoutSeconds + Math.ceil(input.body.byteLength / SLOWEST_CONNECTION),
      MAX_SECONDS,
    )
    // Overrides the client's own timeout, which may be shorter.
    const requestTimeout = seconds * 1000
    return bucketCalls(seconds)(operation, input, (abortSignal) => call({ abortSignal, requestTimeout }))
  }

  const write: NonNullable<ObjectStorage['write']> = (input) => {
    const command = new PutObjectCommand({
      Bucket: input.bucket,
      Key: input.key,
      Body: input.body,
      ContentLength: input.body.byteLength,
      ContentType: input.contentType,
      IfNoneMatch: '*',
      Metadata: { [ATTEMPT_METADATA]: input.attemptId },
    })
    removeChecksums(command)
    return runWrite('write', input, (options) =>
      client.send(command, options).then(() => true, falseIf(isPreconditionFailed)),
    )
  }

  const writePart = (input: WritePartInput): Promise<boolean> => {
    const command = new UploadPartCommand({
      Bucket: input.bucket,
      Key: input.key,
      UploadId: input.uploadId,
      PartNumber: input.partNumber,
      Body: input.body,
      ContentLength: input.body.byteLength,
    })
    removeChecksums(command)
    return runWrite('multipart.writePart', input, (options) =>
      client.send(command, options).then(() => true, falseIf(isNoSuchUpload)),
    )
  }

  const read: NonNullable<ObjectStorage['read']> = (input) => {
    const { bucket, key, range } = input
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: key,
      ...(range && { Range: `bytes=${range.start}-${range.end}` }),
    })
    return run('read', input, async (abortSignal) => {
      try {
        return streamOfBody((await client.send(command, { abortSignal })).Body)
      } catch (error) {
        if (isNoSuchKey(error)) return null
        throw error
      }
    })
  }

  return { write, writePart, read }
}

function falseIf(isExpected: (error: unknown) => boolean): (error: unknown) => false {
  return (error) => {
    if (isExpected(error)) return false
    throw error
  }
}

/**
 * Returns the body of a response as a web stream that reads on demand. The SDK's own conversion can read a whole object ahead
 * of a slow reader, and leaves the connection open if the stream is cancelled.
 */
function streamOfBody(body: GetObjectCommandOutput['Body']): ReadableStream<Uint8Array> {
  if (!body) throw new Error('the response has no body')
  if (!isNodeStream(body)) return body.transformToWebStream() as ReadableStream<Uint8Array>
  const chunks: AsyncIterator<Uint8Array, undefined> = body[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      cancel() {
        body.destroy()
      },
    },
    { highWaterMark: 0 },
  )
}

interface NodeStream extends AsyncIterable<Uint8Array> {
  destroy(): void
}

function isNodeStream(body: object): body is NodeStream {
  return 'destroy' in body && Symbol.asyncIterator in body
}
