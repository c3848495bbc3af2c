import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type GetObjectCommandOutput,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3'
import type {
  ByteRange,
  BytesPage,
  BytesReference,
  CreateMultipartInput,
  ListBytesInput,
  ListedBytes,
  ObjectStorage,
  StoredBytes,
} from '../../core/object-storage.js'
import { ATTEMPT_METADATA } from '../headers.js'
import {
  callError,
  decodeKey,
  incompleteResponse,
  responseOf,
  secondsToSend,
  valueIf,
  type RunBucketCall,
  type Send,
} from './calls.js'
import type { UploadSettings } from './upload-headers.js'

interface ObjectSettings extends Pick<UploadSettings, 'parameters'> {
  readonly timeoutSeconds: number
  readonly idleSeconds: number
  readonly createOnly: boolean
  readonly now: () => Date
}

export function s3Objects(
  run: RunBucketCall,
  { timeoutSeconds, idleSeconds, createOnly, parameters, now }: ObjectSettings,
): Required<Pick<ObjectStorage, 'head' | 'remove' | 'write' | 'read' | 'list'>> {
  const decoders: KeyDecoders = new Map()
  return {
    head: (input) => run('head', input, headObject),

    async remove(input) {
      const at = { Bucket: input.bucket, Key: input.key }
      const { writableUntil, eTag } = input
      // Where a URL can replace an object, an empty one would not stop it.
      const canBeWritten = createOnly && !isOfParts(eTag) && writableUntil && writableUntil > now()
      // In one call: between a removal and another call, an upload URL could write.
      await run('remove', input, (send) =>
        canBeWritten
          ? send(new PutObjectCommand({ ...at, ...parameters, Body: new Uint8Array(), ContentLength: 0 }))
          : send(new DeleteObjectCommand(at)),
      )
    },

    write(input) {
      const { body } = input
      const command = new PutObjectCommand({
        ...newObject(input, parameters),
        ...(createOnly && { IfNoneMatch: '*' }),
        Body: body,
        ContentLength: body.byteLength,
      })
      const isTaken = (error: unknown) => responseOf(error).status === 412
      return run(
        'write',
        input,
        (send) => send(command).then(() => true, valueIf(isTaken, false)),
        secondsToSend(body, timeoutSeconds),
      )
    },

    read(input) {
      const { bucket, key, range } = input
      const command = new GetObjectCommand({
        Bucket: bucket,
        Key: key,
        ...(range && { Range: `bytes=${range.start}-${range.end}` }),
      })
      const isMissing = (error: unknown) => responseOf(error).name === 'NoSuchKey'
      const source = sourceOf(command)
      return run('read', input, async (send) => {
        const found = await send(command).catch(valueIf(isMissing, null))
        if (found === null) return null
        const stream = streamOfBody(found.Body, source(), { bucket, idleSeconds })
        if (!range || isPart(found, range)) return stream
        await stream.cancel()
        throw new Error(`the response has other bytes than ${range.start} to ${range.end}`)
      })
    },

    list: (input) => run('list', input, (send) => listObjects(send, input, decoders)),
  }
}

/** Returns the parameters of every command that creates an object. */
export function newObject(
  { bucket, key, contentType, attemptId }: CreateMultipartInput,
  parameters: UploadSettings['parameters'],
) {
  const metadata = { [ATTEMPT_METADATA]: attemptId }
  return { ...parameters, Bucket: bucket, Key: key, ContentType: contentType, Metadata: metadata }
}

/**
 * Returns whether an ETag is that of two or more parts, which S3 marks by their number. No URL of such an upload can write the object, and
 * on OpenStack Swift only a DELETE deletes its parts.
 */
function isOfParts(eTag: string | null | undefined): boolean {
  return Number(/-(\d+)"?$/.exec(eTag ?? '')?.[1]) > 1
}

async function headObject(send: Send, { bucket, key }: BytesReference): Promise<StoredBytes | null> {
  try {
    const found = await send(new HeadObjectCommand({ Bucket: bucket, Key: key }))
    // Proxies that compress responses remove the length.
    const size = found.ContentLength ?? (await listedSize(send, { bucket, key }))
    if (size === undefined) throw new Error('the response has no Content-Length')
    return {
      size,
      contentType: found.ContentType ?? null,
      contentEncoding: encodingOf(found.ContentEncoding),
      eTag: found.ETag || null,
      attemptId: found.Metadata?.[ATTEMPT_METADATA] ?? null,
    }
  } catch (error) {
    const { status = 0 } = responseOf(error)
    if (status >= 400 && status < 500 && status !== 404) {
      // A response to HEAD has no body, so find out the reason with another request.
      const reason = await refusalOfGet(send, { bucket, key })
      if (isCustomerEncryption(reason)) return encryptedObject(send, { bucket, key })
      throw reason ?? error
    }
    if (status !== 404) throw error
  }
  // Rejects for a missing bucket, which is an error. HeadBucket would as well, but some credentials may only list.
  await listedSize(send, { bucket, key })
  return null
}

/** Returns an encoding that readers have to undo. `aws-chunked` is part of an upload, and some services store it. */
function encodingOf(encoding = ''): string | undefined {
  return /^(?:[\s,]|identity|aws-chunked)*$/i.test(encoding) ? undefined : encoding
}

/** Returns the size of an object from a listing, where the key itself sorts before all longer ones. */
async function listedSize(send: Send, { bucket, key }: BytesReference): Promise<number | undefined> {
  const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1, EncodingType: 'url' })
  return (await send(command)).Contents?.[0]?.Size
}

/** Returns how the service refuses to return an object, or `null` if it doesn't. */
async function refusalOfGet(send: Send, { bucket, key }: BytesReference): Promise<unknown> {
  try {
    const { Body } = await send(new GetObjectCommand({ Bucket: bucket, Key: key, Range: 'bytes=0-0' }))
    await Body?.transformToByteArray()
    return null
  } catch (error) {
    const { status = 0 } = responseOf(error)
    return status >= 400 && status < 500 && status !== 404 ? error : null
  }
}

/** Returns whether only the writer of an object can read it, by its own key (SSE-C). */
function isCustomerEncryption(error: unknown): boolean {
  return responseOf(error).status === 400 && /encrypt|SSE/i.test((error as Error).message)
}

/** Describes an object that only its writer can decrypt, without an attempt id. */
async function encryptedObject(send: Send, at: BytesReference): Promise<StoredBytes | null> {
  const size = await listedSize(send, at)
  return size === undefined ? null : { size, contentType: null, eTag: null, attemptId: null }
}

/** Returns whether a response has this part of an object. Gateways may ignore a range, or return the part with status 200. */
function isPart({ ContentRange, ContentLength }: GetObjectCommandOutput, { start, end }: ByteRange): boolean {
  if (ContentRange !== undefined) return ContentRange.startsWith(`bytes ${start}-${end}/`)
  // Without either, the part of the bytes from 0 is all that a reader sees.
  return ContentLength === undefined ? start === 0 : ContentLength === end - start + 1
}

/** Returns a function that returns what the client has received: the body, or what a checksum reads in its place. */
function sourceOf({ middlewareStack }: GetObjectCommand): () => unknown {
  let source: unknown
  middlewareStack.add(
    (next) => async (args) => {
      const result = await next(args)
      source = (result.response as { readonly body?: unknown }).body
      return result
    },
    { step: 'deserialize', priority: 'low', name: 'sourceOf' },
  )
  return () => source
}

/** Returns a body as a stream that ends if idle. The SDK's own one can read all ahead, and stays connected when it is cancelled. */
function streamOfBody(
  body: GetObjectCommandOutput['Body'],
  source: unknown,
  { bucket, idleSeconds }: { readonly bucket: string; readonly idleSeconds: number },
): ReadableStream<Uint8Array> {
  if (!body) throw new Error('the response has no body')
  const reader = isNodeStream(body) ? readerOf(body, source) : webReaderOf(body)
  let timer: ReturnType<typeof setTimeout>
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => limitIdle(controller, 'nothing read the body'),
      async pull(controller) {
        limitIdle(controller, 'the bucket sent nothing')
        try {
          const { value } = await reader.read()
          clearTimeout(timer)
          if (!value) return controller.close()
          controller.enqueue(value)
          limitIdle(controller, 'nothing read the body')
        } catch (error) {
          clearTimeout(timer)
          throw error
        }
      },
      cancel() {
        clearTimeout(timer)
        reader.end()
      },
    },
    { highWaterMark: 0 },
  )

  function limitIdle(controller: ReadableStreamDefaultController<Uint8Array>, reason: string): void {
    clearTimeout(timer)
    timer = setTimeout(() => {
      controller.error(callError('read', bucket, `${reason} for ${idleSeconds} s`))
      reader.end()
    }, idleSeconds * 1000)
  }
}

/** The chunks of a body. `end` closes its connection. */
interface BodyReader {
  /** Without a `value` at the end. */
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
  end(): void
}

function webReaderOf(body: { transformToWebStream(): unknown }): BodyReader {
  const reader = (body.transformToWebStream() as ReadableStream<Uint8Array>).getReader()
  return { read: () => reader.read(), end: () => void reader.cancel().catch(() => undefined) }
}

function readerOf(body: NodeStream, source: unknown): BodyReader {
  if (isNodeStream(source)) releaseSocket(source)
  const chunks = body[Symbol.asyncIterator]()
  const end = () => {
    body.destroy()
    if (isNodeStream(source)) source.destroy()
  }
  return { read: () => chunks.next(), end }
}

/** How long a body holds a socket of the client, in milliseconds. Most are read by then, and the socket is used again. */
const SHARED_MS = 100

/** Takes the socket of a body from the client, which has only a few. Otherwise slow readers would hold up every other call. */
function releaseSocket(source: NodeStream): void {
  const { socket } = source
  if (!socket) return
  const timer = setTimeout(() => {
    socket.emit('agentRemove')
    source.once('close', () => socket.destroy())
  }, SHARED_MS)
  source.once('close', () => clearTimeout(timer))
}

interface NodeStream extends AsyncIterable<Uint8Array> {
  readonly socket?: { emit(event: 'agentRemove'): void; destroy(): void } | null
  once(event: 'close', listener: () => void): void
  destroy(): void
}

function isNodeStream(body: unknown): body is NodeStream {
  return typeof body === 'object' && body !== null && 'destroy' in body && Symbol.asyncIterator in body
}

/** Lists the objects after a key. S3 lists in byte order. */
async function listObjects(
  send: Send,
  { bucket, prefix, after, limit }: ListBytesInput,
  decoders: KeyDecoders,
): Promise<BytesPage> {
  const items: ListedBytes[] = []
  let token: string | undefined
  for (;;) {
    const command = new ListObjectsV2Command({
      Bucket: bucket,
      Prefix: prefix ?? undefined,
      StartAfter: after ?? undefined,
      ContinuationToken: token,
      MaxKeys: limit - items.length,
      // XML can't represent some characters that keys may contain.
      EncodingType: 'url',
    })
    const page = await send(command)
    const plus = page.Contents?.find(({ Key }) => Key?.includes('+'))?.Key
    if (plus !== undefined && page.EncodingType === 'url' && !decoders.has(bucket)) {
      await findDecoder(send, { bucket, key: plus }, decoders)
    }
    items.push(...itemsOf(page, decoders.get(bucket)))
    const last = items.at(-1)
    if (page.IsTruncated !== true) return { items, next: null }
    if (last && items.length >= limit) return { items, next: last.key }
    // A page may have fewer items than there are, or none.
    if (!page.NextContinuationToken || page.NextContinuationToken === token) throw incompleteResponse()
    token = page.NextContinuationToken
  }
}

function itemsOf(
  { Contents = [], EncodingType }: ListObjectsV2CommandOutput,
  decode = decodeKey,
): readonly ListedBytes[] {
  return Contents.map(({ Key, Size, ETag, LastModified, StorageClass: storageClass }) => {
    if (Key === undefined || Size === undefined || !LastModified) throw incompleteResponse()
    const key = EncodingType === 'url' ? decode(Key) : Key
    const item = { key, size: Size, eTag: ETag || null, lastModified: LastModified }
    return storageClass ? { ...item, storageClass } : item
  })
}

/** How the listings of each bucket encode keys, as far as it is known. */
type KeyDecoders = Map<string, (text: string) => string>

/** Finds out whether `+` is a space in the listings of a bucket, from such a key. Learns nothing if its object was removed. */
async function findDecoder(
  send: Send,
  { bucket, key }: BytesReference,
  decoders: KeyDecoders,
): Promise<void> {
  const keepPlus = (text: string) => decodeKey(text.replaceAll('+', '%2B'))
  for (const decode of [decodeKey, keepPlus]) {
    if (!(await headObject(send, { bucket, key: decode(key) }))) continue
    decoders.set(bucket, decode)
    return
  }
}
