import { StorageError } from '../../core/errors.js'
import {
  consumedBody,
  discard,
  invalidBody,
  unreadableBody,
  type RequestBody,
} from '../../core/http/request-body.js'
import { isBuiltIn } from '../../core/realms.js'
import { STALLED_AFTER_MS, type ClaimWrite, type IncomingBytes, type WriteClaim } from './contract.js'

/** How long bytes may arrive after `writableUntil`, in milliseconds. Then `cleanUp` stops looking for them. */
const GRACE_MS = 60 * 60 * 1000

/** Milliseconds between two looks whether another process has ended its write. */
const LOOK_EVERY_MS = 100

interface WriteTerms {
  /** Bytes, exactly. */
  readonly size: number
  /** Whether to wait for another write to the target instead of refusing this one. For writes that no client sends. */
  readonly waits?: boolean | undefined
  /** Milliseconds since 1970. */
  readonly writableUntil?: number | undefined
}

/**
 * Reads the body of a write. @throws StorageError `KEY_CONFLICT` beside another write, `FORBIDDEN` if it comes too late, and
 * `VALIDATION_ERROR` (`body`) unless it has exactly `size` bytes that no parser has consumed.
 */
export type WriteBody = <T>(
  target: string,
  terms: WriteTerms,
  body: RequestBody,
  store: (bytes: IncomingBytes) => Promise<T>,
) => Promise<T>

/** Admits one write at a time per target. Otherwise many requests to one URL could store drafts of many times the quota. */
export function createWrites(claimWrite: ClaimWrite, now: () => Date): WriteBody {
  const running = new Map<string, RunningWrite>()

  async function claimed(target: string, waits: boolean): Promise<WriteClaim> {
    for (;;) {
      const claim = await claimWrite(target)
      if (claim) return claim
      if (!waits) throw inProgress()
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
    }
  }

  return async (target, { size, writableUntil = Infinity, waits = false }, body, store) => {
    for (let other = running.get(target); other; other = running.get(target)) {
      if (other.hasStalled()) other.stop(takenOver())
      else if (!waits) throw inProgress()
      await other.ended
    }
    const write = createRunningWrite(now)
    running.set(target, write)
    try {
      const claim = await claimed(target, waits)
      const checkDeadline = () => {
        const end = writableUntil + GRACE_MS
        if (now().getTime() < end) return
        const message = `The upload took too long: bytes were accepted until ${new Date(end).toISOString()}.`
        throw new StorageError('FORBIDDEN', { message })
      }
      try {
        return await store({
          chunks: chunksOf(body, size, write, claim, checkDeadline),
          beforePublishing: async () => checkDeadline(),
        })
      } finally {
        await claim.release()
      }
    } finally {
      running.delete(target)
      write.end()
    }
  }
}

type RunningWrite = ReturnType<typeof createRunningWrite>

function createRunningWrite(now: () => Date) {
  const controller = new AbortController()
  let waitingSince: number | null = null
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  return {
    /** Aborts when another request takes over. */
    signal: controller.signal,
    /** Waits for the client. Another request can only take over while a write waits here. */
    waitFor: async <T>(client: Promise<T>): Promise<T> => {
      waitingSince = now().getTime()
      try {
        return await client
      } finally {
        waitingSince = null
      }
    },
    hasStalled: () => waitingSince !== null && now().getTime() - waitingSince >= STALLED_AFTER_MS,
    stop: (reason: StorageError) => controller.abort(reason),
    end,
    ended,
  }
}

/** Yields a body, reading on demand and no further than `size` bytes require. */
async function* chunksOf(
  body: RequestBody,
  size: number,
  write: RunningWrite,
  claim: WriteClaim,
  checkDeadline: () => void,
): AsyncGenerator<Uint8Array, void> {
  const chunks =
    body.kind === 'parsed' ? [parsedBytes(body.value)] : chunksOfStream(body.open(), write, claim)
  let length = 0
  for await (const chunk of chunks) {
    length += chunk.byteLength
    if (length > size) break
    checkDeadline()
    yield chunk
  }
  if (length > size) throw wrongLength(size, 'more arrived')
  if (length < size) throw wrongLength(size, `${length} arrived`)
}

/** A raw parser keeps the bytes. From the result of any other parser, they can't be recovered. */
function parsedBytes(value: unknown): Uint8Array {
  if (isBuiltIn(value, 'Uint8Array')) return value
  throw consumedBody()
}

/** Yields what the client sends. Stops when another request takes over. */
async function* chunksOfStream(
  stream: ReadableStream<Uint8Array> | null,
  { signal, waitFor }: RunningWrite,
  claim: WriteClaim,
): AsyncGenerator<Uint8Array, void> {
  if (!stream) return
  const reader = stream.getReader()
  const cancel = () => void reader.cancel().catch(() => undefined)
  let arrived = 0
  let isComplete = false
  signal.addEventListener('abort', cancel)
  try {
    for (;;) {
      const next = await waitFor(reader.read()).catch((cause: unknown) => {
        throw unreadableBody(cause, `The body could not be read completely (${arrived} bytes arrived).`)
      })
      signal.throwIfAborted()
      isComplete = next.done
      if (next.done) return
      if (!(await claim.keep())) throw takenOver()
      arrived += next.value.byteLength
      yield next.value
    }
  } finally {
    signal.removeEventListener('abort', cancel)
    // Not awaited, to respond before the rest of the body is discarded.
    if (!isComplete) void discard(reader)
  }
}

function inProgress(): StorageError {
  return new StorageError('KEY_CONFLICT', { message: 'Another request is uploading to this URL.' })
}

function takenOver(): StorageError {
  return new StorageError('KEY_CONFLICT', {
    message: 'The upload stalled, and another request to this URL has taken over.',
  })
}

/** Returns an error for a body of another length than the URL's. `found` says what it has. */
export function wrongLength(size: number, found: string): StorageError {
  return invalidBody(`The body must have exactly ${size} bytes, the size this URL is signed for (${found}).`)
}
