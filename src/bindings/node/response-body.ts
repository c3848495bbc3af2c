import type { ServerResponse } from 'node:http'
import { whenOver } from './response-over.js'

/** The body of a response of which the beginning was read. */
export interface BegunBody {
  /** All of it, where it came in one piece: as bytes, or as text where it was made of one. */
  readonly whole: string | Uint8Array | undefined
  /** The next piece; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Ends a read that is under way, too. */
  cancel(): void
}

/** Where the library's JSON answers keep their text: reading it back through a stream would take longer than making it. */
const RESPONSE_TEXT = Symbol.for('@svc/db/response-text')

const nothing = { read: async () => undefined, cancel: () => undefined }
const emptyBody: BegunBody = { whole: '', ...nothing }

/**
 * Reads the beginning of a body, which is cancelled when `target` is over.
 *
 * @throws what the body fails with: nothing has been sent yet, so that the framework can still answer with an error.
 */
export async function beginBody(source: Response, target: ServerResponse): Promise<BegunBody> {
  const text = (source as { readonly [RESPONSE_TEXT]?: string })[RESPONSE_TEXT]
  if (text !== undefined) return { whole: text, ...nothing }
  if (!source.body) return emptyBody
  const reader = source.body.getReader()
  // A body that can't be cancelled has nobody left to tell.
  const cancel = () => void reader.cancel().catch(() => undefined)
  whenOver(target, cancel)

  const first = await reader.read()
  if (first.done) return emptyBody
  // A body in one piece is sent with its length, so it is worth a look whether another piece follows.
  const second = source.headers.has('content-length') ? undefined : await reader.read()
  if (second?.done) return { whole: first.value, read: async () => undefined, cancel }

  const ahead = [first.value, ...(second ? [second.value] : [])]
  return { whole: undefined, read: async () => ahead.shift() ?? (await reader.read()).value, cancel }
}
