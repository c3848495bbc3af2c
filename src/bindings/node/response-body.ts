/** A response body whose beginning has been read. */
export interface StartedBody {
  /** The whole body, if it is a single chunk: bytes, or the text that it was created from. */
  readonly whole: string | Uint8Array | undefined
  /** Resolves to the next chunk; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Also ends a pending read. */
  cancel(): void
}

/** Property with the text of the library's JSON responses. Reading it back through a stream would be slow. */
const RESPONSE_TEXT = Symbol.for('@svc/db/response-text')

function textOf(source: Response): string | undefined {
  return (source as { readonly [RESPONSE_TEXT]?: string })[RESPONSE_TEXT]
}

/** Returns whether a response has a body, without creating the stream of one. */
export function hasBody(source: Response): boolean {
  return textOf(source) !== undefined || source.body !== null
}

const nothing = { read: async () => undefined, cancel: () => undefined }
const emptyBody: StartedBody = { whole: '', ...nothing }

/**
 * Reads the beginning of a body. `onceOver` gets a function that cancels the body, to call when its response is over.
 *
 * @throws the error of the body. Nothing has been sent yet, so the framework can still send an error response.
 */
export async function startBody(
  source: Response,
  onceOver: (cancel: () => void) => void,
): Promise<StartedBody> {
  const text = textOf(source)
  if (text !== undefined) return { whole: text, ...nothing }
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
