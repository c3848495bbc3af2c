import type { ServerResponse } from 'node:http'
import { whenOver } from './response-over.js'

/** The body of a response of which the beginning was read. */
export interface BegunBody {
  /** All of it, where it came in one piece. */
  readonly whole: Uint8Array | undefined
  /** The next piece; `undefined` at the end. */
  read(): Promise<Uint8Array | undefined>
  /** Ends a read that is under way, too. */
  cancel(): void
}

const EMPTY = new Uint8Array(0)
const emptyBody: BegunBody = { whole: EMPTY, read: async () => undefined, cancel: () => undefined }

/**
 * Reads the beginning of a body, which is cancelled when `target` is over.
 *
 * @throws what the body fails with: nothing has been sent yet, so that the framework can still answer with an error.
 */
export async function beginBody(source: Response, target: ServerResponse): Promise<BegunBody> {
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
