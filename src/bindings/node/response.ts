import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { PlainResponse } from '../../core/http/response.js'

/** Headers with a list of values, which a response extends instead of replacing. */
export const LISTS: ReadonlySet<string> = new Set(['set-cookie', 'vary'])

/** What `setHeaders` needs of a response. */
interface HeaderTarget {
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string | readonly string[]): unknown
}

/** Sets the headers of a response, and keeps others that were set before. */
export function setHeaders({ headers }: PlainResponse, target: HeaderTarget): void {
  for (const [name, value] of headers) {
    const before = LISTS.has(name) ? target.getHeader(name) : undefined
    target.setHeader(name, before === undefined ? value : [before, value].flat().map(String))
  }
}

/** Returns the value of a header. The name is in lower case. */
export function headerOf({ headers }: PlainResponse, name: string): string | undefined {
  return headers.find((entry) => entry[0] === name)?.[1]
}

/** A response body whose beginning has been read. */
export interface StartedBody {
  /** The whole body if it is text or a single chunk; `null` if there is none to send; `undefined` if the rest must be read. */
  readonly whole: string | Uint8Array | null | undefined
  /** Resolves to the next chunk; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Also ends a pending read. */
  cancel(): void
}

/** Reads the beginning of a body, so an error is thrown before anything is sent. `onceOver` gets what cancels the body. */
export async function startBody(
  response: PlainResponse,
  method: string | undefined,
  onceOver: (cancel: () => void) => void,
): Promise<StartedBody> {
  const { body } = response
  if (method === 'HEAD') {
    if (typeof body === 'object') await body?.cancel().catch(throwError)
    return startedBody(null)
  }
  if (typeof body !== 'object' || body === null) return startedBody(body)
  const reader = body.getReader()
  const read = () => reader.read().catch(throwError)
  // Ignores a failure to cancel, which has no consequences.
  const cancel = () => void reader.cancel().catch(() => undefined)
  onceOver(cancel)

  const first = await read()
  if (first.done) return startedBody('')
  // A single chunk is sent with its length. Without a length, only the next read tells whether there is another chunk.
  const length = headerOf(response, 'content-length')
  const second = length === undefined ? await read() : undefined
  const isWhole = second ? second.done : Number(length) === first.value.byteLength
  if (isWhole) return startedBody(first.value, cancel)

  const ahead = [first.value, ...(second ? [second.value] : [])]
  return { whole: undefined, read: async () => ahead.shift() ?? (await read()).value, cancel }
}

function startedBody(whole: StartedBody['whole'], cancel = () => undefined): StartedBody {
  return { whole, read: async () => undefined, cancel }
}

/** Returns a web stream that reads only on demand. `read` resolves to the next chunk; `undefined` at the end. */
export function streamOf(
  read: () => Promise<Uint8Array | undefined>,
  cancel?: () => void,
): ReadableStream<Uint8Array> {
  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const chunk = await read()
    if (chunk) controller.enqueue(chunk)
    else controller.close()
  }
  return new ReadableStream({ pull, ...(cancel && { cancel }) }, { highWaterMark: 0 })
}

/** Throws an `Error` in place of other values, because frameworks treat some of them, such as `undefined` or `'route'`, specially. */
export function throwError(thrown: unknown): never {
  // Not `instanceof`: in jest, Node's own errors are of another realm.
  const isError = typeof thrown === 'object' && thrown !== null && 'stack' in thrown
  throw isError ? (thrown as Error) : new Error('The response failed.', { cause: thrown })
}

/** Listeners for the end of a response. A property, because an entry in a `WeakMap` per request slows down the garbage collection. */
const LISTENERS = Symbol('listeners')
/** Callbacks that end the responses of a connection. */
const endsOfSocket = new WeakMap<Socket, Set<() => void>>()

type Listening = ServerResponse & { [LISTENERS]?: (() => void)[] }

/** Calls the listener when the response is over. A pipelined response gets no `close` event, so this listens to the socket, too. */
export function whenOver(response: Listening, listener: () => void): void {
  const socket = socketOf(response)
  if (response.closed || socket?.destroyed) return listener()
  const known = response[LISTENERS]
  if (known) return void known.push(listener)
  // A single listener per response, because Node warns about many.
  const listeners = (response[LISTENERS] = [listener])
  const ends = socket ? endsOf(socket) : new Set<() => void>()
  const end = () => {
    if (!ends.delete(end)) return
    for (const one of listeners) one()
  }
  ends.add(end)
  response.once('close', end)
}

/** Returns the socket. Adapters for Lambda and mocks have none, or an object without events, so they don't report disconnects. */
export function socketOf({ req }: ServerResponse): Socket | undefined {
  const { socket } = (req as Partial<IncomingMessage> | undefined) ?? {}
  return typeof socket?.once === 'function' ? socket : undefined
}

/**
 * Returns a function that throws why a body could not be read. Node.js ends a request that takes longer than `requestTimeout` as if its
 * client had gone. Only the connection has the reason.
 */
export function failWithReason(response: ServerResponse): (error: unknown) => never {
  return (error) => {
    const reason: (Error & { readonly code?: string }) | null | undefined = socketOf(response)?.errored
    throw reason?.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? reason : error
  }
}

/** How much of an unread body is read. Clients may send all of it before they read the response. */
const MAX_DISCARDED = { bytes: 1024 ** 2, milliseconds: 500 }

/** Discards the rest of a body once its response is over, for the next request. Closes the connection if too much is left. */
export function discardBody(response: ServerResponse, stopReading?: () => Promise<unknown>): void {
  const { req: message } = response
  // Without a message of Node.js, there is no connection.
  if (typeof (message as Partial<IncomingMessage> | undefined)?.resume !== 'function') return
  // Node.js would discard an HTTP/1 body that nothing has read itself, without a limit and without `data` events.
  if (message.httpVersionMajor === 1 && !message.readableDidRead) message.read(0)
  whenOver(response, () => {
    message.unpipe()
    const stopped = stopReading?.()
    if (message.readableEnded || message.destroyed) return
    if (!message.complete) limitRest(response)
    if (stopped) void stopped.then(() => message.resume())
    else message.resume()
  })
}

function limitRest(response: ServerResponse & { readonly stream?: { close(): void } }): void {
  const { req: message, stream } = response
  let left = MAX_DISCARDED.bytes
  // In HTTP/2, only the stream of this request.
  const close = () => (stream ? stream.close() : message.destroy())
  const timer = setTimeout(close, MAX_DISCARDED.milliseconds)
  for (const event of ['end', 'close']) message.once(event, () => clearTimeout(timer))
  message.on('data', ({ length }: Buffer) => {
    left -= length
    if (left < 0) close()
    // A web stream of the message may have paused it.
    else message.resume()
  })
}

function endsOf(socket: Socket): Set<() => void> {
  const known = endsOfSocket.get(socket)
  if (known) return known
  const ends = new Set<() => void>()
  endsOfSocket.set(socket, ends)
  socket.once('close', () => ends.forEach((end) => end()))
  return ends
}
