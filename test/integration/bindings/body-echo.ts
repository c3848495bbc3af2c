import { buffer } from 'node:stream/consumers'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'
import type { Handler } from '@svc/db'

export interface BodySeen {
  readonly kind: 'stream' | 'parsed'
  /** Content of a stream, or of a parsed value that is bytes. */
  readonly text?: string
  readonly value?: unknown
}

/** A stand-in for a server that returns the body that its handler gets. */
export const reading = {
  basePath: '/api/s3',
  handler: (async (_request, options) => Response.json(await bodySeen(options!.body!))) as Handler,
}

/** Like {@link reading}, but reads the body at once instead of opening a stream. */
export const readingAtOnce = {
  basePath: '/api/s3',
  handler: (async (_request, options) => {
    const body = options!.body!
    if (body.kind === 'parsed' || !body.read) throw new Error('The body can only be opened or is parsed.')
    return Response.json(streamed(Buffer.from((await body.read(Infinity))!).toString()))
  }) as Handler,
}

export const streamed = (text: string): BodySeen => ({ kind: 'stream', text })
export const parsed = (value?: unknown): BodySeen => ({
  kind: 'parsed',
  ...(value !== undefined && { value }),
})

export type RequestBody = NonNullable<NonNullable<Parameters<Handler>[1]>['body']>

async function bodySeen(body: RequestBody): Promise<BodySeen> {
  if (body.kind === 'stream') return { kind: 'stream', text: (await readToEnd(body.open())).toString() }
  return body.value instanceof Uint8Array
    ? { kind: 'parsed', text: Buffer.from(body.value).toString() }
    : { kind: 'parsed', value: body.value }
}

export function readToEnd(stream: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  return stream ? buffer(stream as NodeReadableStream<Uint8Array>) : Promise.resolve(Buffer.alloc(0))
}
