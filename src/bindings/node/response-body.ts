import type { PlainResponse } from '../../core/http/plain-response.js'

/** A response body whose beginning has been read. */
export interface StartedBody {
  /** The whole body, if it is a single chunk: bytes, or the text that it was created from. */
  readonly whole: string | Uint8Array | undefined
  /** Resolves to the next chunk; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Also ends a pending read. */
  cancel(): void
}

/** What the library's handler returns to a binding. */
export type AnyResponse = Response | PlainResponse

/** As in the core, of which bindings import only types: one more file to load would cost each start of a process more than this line. */
export function isPlain(source: AnyResponse): source is PlainResponse {
  return typeof source.text !== 'function'
}

export function hasBody(source: AnyResponse): boolean {
  return isPlain(source) ? source.text !== null : source.body !== null
}

/** Cancels a body that won't be sent. */
export async function cancelBody(source: AnyResponse): Promise<void> {
  if (!isPlain(source)) await source.body?.cancel()
}

const nothing = { read: async () => undefined, cancel: () => undefined }
const emptyBody: StartedBody = { whole: '', ...nothing }

/**
 * Reads the beginning of a body. `onceOver` gets a function that cancels the body, to call when its response is over.
 *
 * @throws the error of the body. Nothing has been sent yet, so the framework can still send an error response.
 */
export async function startBody(
  source: AnyResponse,
  onceOver: (cancel: () => void) => void,
): Promise<StartedBody> {
  if (isPlain(source)) return source.text === null ? emptyBody : { whole: source.text, ...nothing }
  if (!source.body) return emptyBody
  const reader = source.body.getReader()
  // Ignores a failure to cancel, which has no consequences.
  const cancel = () => void reader.cancel().catch(() => undefined)
  onceOver(cancel)

  const first = await reader.read()
  if (first.done) return emptyBody
  const length = source.headers.get('content-length')
  // A single chunk is sent with its length, so without one this checks whether a second chunk follows.
  const second = length === null ? await reader.read() : undefined
  const isWhole = length === null ? second?.done : Number(length) === first.value.byteLength
  if (isWhole) return { whole: first.value, read: async () => undefined, cancel }

  const ahead = [first.value, ...(second ? [second.value] : [])]
  return { whole: undefined, read: async () => ahead.shift() ?? (await reader.read()).value, cancel }
}
