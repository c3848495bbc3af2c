import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type GetObjectCommandOutput,
  type ListObjectsV2CommandOutput,
  type S3Client,
} from '@aws-sdk/client-s3'
import type {
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
  type SendOptions,
} from './calls.js'

interface S3ObjectOptions {
  readonly timeoutSeconds: number
  readonly idleSeconds: number
  readonly now: () => Date
}

/** Creates the calls that describe, delete, write, read and list objects. */
export function s3Objects(
  client: S3Client,
  run: RunBucketCall,
  { timeoutSeconds, idleSeconds, now }: S3ObjectOptions,
): Required<Pick<ObjectStorage, 'head' | 'remove' | 'write' | 'read' | 'list'>> {
  const decoders: KeyDecoders = new Map()
  return {
    head: (input) => run('head', input, (options) => headObject(client, input, options)),

    async remove(input) {
      const at = { Bucket: input.bucket, Key: input.key }
      const { writableUntil } = input
      // In one call: between a removal and another call, an upload URL could write.
      const send = (options: SendOptions) =>
        writableUntil && writableUntil > now()
          ? client.send(new PutObjectCommand({ ...at, Body: new Uint8Array(), ContentLength: 0 }), options)
          : client.send(new DeleteObjectCommand(at), options)
      await run('remove', input, send)
    },

    write(input) {
      const { body } = input
      const command = new PutObjectCommand({
        ...newObject(input),
        IfNoneMatch: '*',
        Body: body,
        ContentLength: body.byteLength,
      })
      const isTaken = (error: unknown) => responseOf(error).status === 412
      return run(
        'write',
        input,
        (options) => client.send(command, options).then(() => true, valueIf(isTaken, false)),
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
      return run('read', input, (options) =>
        client
          .send(command, options)
          .then(
            ({ Body }) => streamOfBody(Body, source(), { bucket, idleSeconds }),
            valueIf(isMissing, null),
          ),
      )
    },

    list: (input) => run('list', input, (options) => listObjects(client, input, decoders, options)),
  }
}

/** Returns the parameters of every command that creates an object. */
export function newObject({ bucket, key, contentType, attemptId }: CreateMultipartInput) {
  return { Bucket: bucket, Key: key, ContentType: contentType, Metadata: { [ATTEMPT_METADATA]: attemptId } }
}

/** Returns the size, type, and attempt of an object, or `null` if there is none. */
async function headObject(
  client: S3Client,
  { bucket, key }: BytesReference,
  options: SendOptions,
): Promise<StoredBytes | null> {
  try {
    const found = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), options)
    // Proxies that compress responses remove the length.
    const size = found.ContentLength ?? (await listedSize(client, { bucket, key }, options))
    if (size === undefined) throw new Error('the response has no Content-Length')
    return {
      size,
      contentType: found.ContentType ?? null,
      contentEncoding: encodingOf(found.ContentEncoding),
      eTag: found.ETag || null,
      attemptId: found.Metadata?.[ATTEMPT_METADATA] ?? null,
    }
  } catch (error) {
    const { status } = responseOf(error)
    if (status === 400) {
      // A response to HEAD has no body, so find out the reason with another request.
      const encrypted = await customerEncrypted(client, { bucket, key }, options)
      if (encrypted !== undefined) return encrypted
    }
    if (status !== 404) throw error
  }
  // Rejects for a missing bucket, which is an error. HeadBucket would as well, but some credentials may only list.
  await listedSize(client, { bucket, key }, options)
  return null
}

/** Returns an encoding that readers have to undo. `aws-chunked` is part of an upload, and some services store it. */
function encodingOf(encoding = ''): string | undefined {
  return /^(?:[\s,]|identity|aws-chunked)*$/i.test(encoding) ? undefined : encoding
}

/** Returns the size of an object from a listing, where the key itself sorts before all longer ones. */
async function listedSize(
  client: S3Client,
  { bucket, key }: BytesReference,
  options: SendOptions,
): Promise<number | undefined> {
  const command = new ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1, EncodingType: 'url' })
  return (await client.send(command, options)).Contents?.[0]?.Size
}

/**
 * Describes an object that is encrypted with a key that only its writer has (SSE-C), from a listing. It has no attempt id, so
 * it never matches an upload request. Returns `undefined` if the object isn't encrypted like this.
 */
async function customerEncrypted(
  client: S3Client,
  { bucket, key }: BytesReference,
  options: SendOptions,
): Promise<StoredBytes | null | undefined> {
  try {
    const command = new GetObjectCommand({ Bucket: bucket, Key: key, Range: 'bytes=0-0' })
    const { Body } = await client.send(command, options)
    await Body?.transformToByteArray()
    return undefined
  } catch (error) {
    const isEncrypted = responseOf(error).status === 400 && /encrypt|SSE/i.test((error as Error).message)
    if (!isEncrypted) return undefined
  }
  const size = await listedSize(client, { bucket, key }, options)
  return size === undefined ? null : { size, contentType: null, eTag: null, attemptId: null }
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

/**
 * Returns the body of a response as a web stream that reads on demand, and ends once it has been idle for too long. The SDK's own
 * conversion can read a whole object ahead of a slow reader, and leaves the connection open if the stream is cancelled.
 */
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
  client: S3Client,
  { bucket, prefix, after, limit }: ListBytesInput,
  decoders: KeyDecoders,
  options: SendOptions,
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
    const page = await client.send(command, options)
    const plus = page.Contents?.find(({ Key }) => Key?.includes('+'))?.Key
    if (plus !== undefined && page.EncodingType === 'url' && !decoders.has(bucket)) {
      await findDecoder(client, { bucket, key: plus }, decoders, options)
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

/**
 * Finds out what `+` means in the listings of a bucket, from one such key: a space, as S3 writes it, or a `+` that the service
 * leaves as it is. Learns nothing if the object has been removed in the meantime.
 */
async function findDecoder(
  client: S3Client,
  { bucket, key }: BytesReference,
  decoders: KeyDecoders,
  options: SendOptions,
): Promise<void> {
  const keepPlus = (text: string) => decodeKey(text.replaceAll('+', '%2B'))
  for (const decode of [decodeKey, keepPlus]) {
    if (!(await headObject(client, { bucket, key: decode(key) }, options))) continue
    decoders.set(bucket, decode)
    return
  }
}
