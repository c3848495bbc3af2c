import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import type { CallOptions } from '../call-options.js'
import { isCode, withoutResponse } from '../client-error.js'
import { inOneTab, type KeptAttempt, type Slot } from './kept-attempts.js'
import { throwIfAborted, whileOnline } from './retry.js'
import type { Transfer } from './transfer.js'
import type { SignedPut } from './transport.js'

export interface StartedInOnePut {
  readonly object: DbClientObject
  readonly upload: SignedPut & { readonly expiresAt: string }
}

export interface StartedInParts {
  readonly object: DbClientObject
  readonly uploadId: string
  readonly partSize: number
}

/** The parts of an upload that the bucket has. */
export interface StoredParts {
  /** Size of every part but the last, in bytes. */
  readonly partSize: number
  /** Size of each stored part by part number. */
  readonly sizes: ReadonlyMap<number, number>
}

export interface SignedPart {
  readonly partNumber: number
  readonly url: string
  readonly expiresAt: string
}

interface ListResponse {
  readonly partSize: number
  readonly parts: readonly { readonly partNumber: number; readonly size: number }[]
  readonly next?: number
}

/** Returns the API calls for a started attempt. `sign` and `list` are for uploads in parts. */
export function attemptCalls(request: ApiRequest, { object: { bucket, key, id }, uploadId }: KeptAttempt) {
  const ids = { bucket, key, id, uploadId }
  return {
    async sign(partNumbers: readonly number[], signal: AbortSignal): Promise<readonly SignedPart[]> {
      const { parts } = await request<{ readonly parts: readonly SignedPart[] }>('POST', '/multipart/parts', {
        body: { ...ids, partNumbers },
        answer: 'parts',
        signal,
      })
      return parts
    },

    async list(signal: AbortSignal): Promise<StoredParts> {
      const sizes = new Map<number, number>()
      for (let after = 0; ;) {
        const { partSize, parts, next } = await request<ListResponse>('POST', '/multipart/list', {
          body: { ...ids, after },
          answer: 'partSize',
          signal,
        })
        for (const { partNumber, size } of parts) sizes.set(partNumber, size)
        if (!next) return { partSize, sizes }
        after = next
      }
    },

    /** Has the server verify and record what was sent. May be repeated. */
    finish: async ({ signal, timeoutSeconds }: CallOptions): Promise<DbClientObject> => {
      const { object } = await request<{ readonly object: DbClientObject }>(
        'POST',
        uploadId ? '/multipart/complete' : '/upload/confirm',
        { body: ids, answer: 'object', signal, timeoutSeconds },
      )
      return object
    },

    abort: (limit: CallOptions): Promise<void> =>
      request('POST', uploadId ? '/multipart/abort' : '/upload/abort', {
        ...limit,
        body: ids,
        keepalive: true,
      }),
  }
}

export type AttemptCalls = ReturnType<typeof attemptCalls>

/** Runs attempts, each in a new slot, until one resolves to an object. */
export async function newAttempts(
  { kept }: Transfer,
  work: (slot: Slot) => Promise<DbClientObject | undefined>,
): Promise<DbClientObject> {
  for (;;) {
    const slot = kept.newSlot()
    const object = await inOneTab(slot, () => work(slot), true)
    if (object) return object
  }
}

/**
 * Runs the call that starts an attempt with a signal that aborts ten seconds after the upload's. Without its response, the
 * client could not end the attempt at the server. Waits while the browser is offline. Rejects with `ABORTED` if another account
 * is signed in by then, which would become the owner of the file.
 */
export async function startAttempt<Result extends { readonly object: DbClientObject }>(
  transfer: Transfer,
  slot: Slot,
  path: `/${string}`,
): Promise<Result> {
  const { request, uploadRequest: body, signal, phase } = transfer
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const follow = () => {
    transfer.leave()
    timer = setTimeout(() => controller.abort(), END_LIMIT.timeoutSeconds * 1000)
  }
  throwIfAborted(signal)
  phase.enter('sending')
  signal.addEventListener('abort', follow)
  try {
    return await whileOnline(() => {
      if (!slot.isCurrent()) throw withoutResponse({ aborted: true })
      return request<Result>('POST', path, { body, answer: 'object', signal: controller.signal })
    }, transfer)
  } finally {
    signal.removeEventListener('abort', follow)
    clearTimeout(timer)
  }
}

/** Returns how far this browser's clock is ahead of the server's, in milliseconds, by an object that the server just recorded. */
export function skewOf({ createdAt }: DbClientObject): number {
  return Date.now() - Date.parse(createdAt)
}

/** Sends and confirms an attempt. If that fails, ends the attempt, unless it `isKept` after this error. */
export async function endOnFailure(
  send: () => Promise<DbClientObject>,
  transfer: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
  isKept?: (error: unknown) => boolean,
): Promise<DbClientObject> {
  try {
    const object = await send()
    slot.clear()
    return object
  } catch (error) {
    if (isKept && isKept(error)) throw error
    transfer.leave()
    const object = await endAttempt(slot, attempt)
    if (object) return object
    throw error
  }
}

/** Limits how long the client waits for the server when it settles or ends an attempt. */
export const END_LIMIT = { timeoutSeconds: 10 }

/**
 * Aborts an attempt at the server, which releases its quota. If the server can't be reached, the abort stays in the slot, to
 * be repeated. Resolves to the object if the attempt turns out to be confirmed: a confirm that was aborted, or whose response
 * was lost, may have succeeded.
 */
export async function endAttempt(slot: Slot, attempt: KeptAttempt): Promise<DbClientObject | undefined> {
  const { abort, finish } = attemptCalls(slot.request, attempt)
  let object: DbClientObject | undefined
  slot.write({ ...attempt, aborted: true })
  try {
    await abort(END_LIMIT).catch(async (error: unknown) => {
      if (!isGone(error)) throw error
      object = await finish(END_LIMIT)
    })
  } catch (error) {
    if (!isGone(error) || !slot.isCurrent()) return undefined
  }
  slot.clear()
  return object
}

/** Returns whether the server doesn't know an attempt, cannot know it, or no longer has the operation. */
export function isGone(error: unknown): boolean {
  return isCode(error, 'NOT_FOUND') || isCode(error, 'OBJECT_NOT_FOUND') || isCode(error, 'VALIDATION_ERROR')
}
