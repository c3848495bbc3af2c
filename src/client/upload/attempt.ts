import type { DbClientObject } from '../../core/store/records.js'
import type { CallOptions } from '../call-options.js'
import { isCode, isPause, type S3ClientError, withoutResponse } from '../client-error.js'
import { rememberSent } from './checked-uploads.js'
import { type Failure, inOneTab, type KeptAttempt, type Slot } from './kept-attempts.js'
import { statusOf, isTransient, retry, throwIfAborted } from './retry.js'
import type { Transfer } from './transfer.js'
import type { SignedPut } from './transport.js'

export interface StartedInOnePut {
  readonly object: DbClientObject
  readonly upload: SignedPut & { readonly expiresAt: string }
}

export interface StartedInParts {
  readonly object: DbClientObject
  readonly uploadId: string
  /** Size of every part but the last, in bytes. */
  readonly partSize: number
}

/** A page of the parts that are in the bucket. */
export interface ListedParts extends Pick<StartedInParts, 'partSize'> {
  readonly parts: readonly { readonly partNumber: number; readonly size: number }[]
}

/** In the order in which the parts were named. */
export interface SignedPart {
  readonly url: string
  readonly expiresAt: string
}

/** Buckets take minutes to put many parts together. */
const COMPLETION_SECONDS = 600

/** Returns the API calls for a started attempt. `sign` and `list` are for uploads in parts. */
export function attemptCalls(
  { request }: Pick<Slot, 'request'>,
  {
    object: { bucket, key, id },
    uploadId,
    failure,
  }: Pick<KeptAttempt, 'uploadId' | 'failure'> & {
    readonly object: Pick<DbClientObject, 'bucket' | 'key' | 'id'>
  },
) {
  const ids = { bucket, key, id, uploadId }
  return {
    sign: (partNumbers: readonly number[], signal: AbortSignal) =>
      request<{ readonly parts: readonly SignedPart[] }>('POST', '/multipart/parts', {
        body: { ...ids, partNumbers },
        answer: 'parts',
        signal,
      }),

    /**
     * Lists the parts in the bucket with numbers above `after`, and reports the last failure. Rejects with `OBJECT_NOT_FOUND` if the
     * server or the bucket doesn't know the attempt.
     */
    list: (limit: CallOptions, after?: number) =>
      request<ListedParts>('POST', '/multipart/list', {
        ...limit,
        body: { ...ids, after, failure },
        answer: 'partSize',
      }),

    /** Has the server verify and record what was sent. May be repeated. */
    finish: async (limit: CallOptions): Promise<DbClientObject> => {
      const { object } = await request<{ readonly object: DbClientObject }>(
        'POST',
        uploadId ? '/multipart/complete' : '/upload/confirm',
        { ...limit, body: ids, answer: 'object', patience: uploadId ? COMPLETION_SECONDS : 0 },
      )
      return object
    },

    abort: (limit: CallOptions): Promise<void> =>
      request('POST', uploadId ? '/multipart/abort' : '/upload/abort', {
        ...limit,
        body: { ...ids, failure },
        keepalive: true,
      }),
  }
}

/** Starts attempts, each in a new slot, until `work` resolves to an object. */
export async function newAttempts<Started extends { readonly object: DbClientObject }>(
  transfer: Transfer,
  path: `/${string}`,
  work: (slot: Slot, started: Started) => Promise<DbClientObject | undefined>,
): Promise<DbClientObject> {
  for (;;) {
    const slot = transfer.kept.newSlot()
    const object = await inOneTab(slot, async () => work(slot, await startAttempt<Started>(transfer, path)))
    if (object) return object
  }
}

/**
 * Runs the call that starts an attempt. An abort doesn't stop it, because without its response the client could not end the attempt
 * at the server. If a response is lost, the reservation that it may tell of expires at the server, so the call is repeated twice; if
 * there is no room for another, it rejects with the first error. Rejects with `ABORTED` if another account is signed in by then,
 * which would become the owner of the file.
 */
async function startAttempt<Result extends { readonly object: DbClientObject }>(
  transfer: Transfer,
  path: `/${string}`,
): Promise<Result> {
  const { request, uploadRequest: body, signal, phase, kept } = transfer
  throwIfAborted(signal)
  phase.enter('sending')
  const lost: unknown[] = []
  try {
    return await retry(
      async () => {
        if (!kept.isCurrent()) throw withoutResponse({ aborted: true })
        return request<Result>('POST', path, { body, answer: 'object' })
      },
      transfer,
      (error) =>
        // With these, the server has done nothing.
        [429, 503].includes(statusOf(error)) ||
        (isTransient(error) && statusOf(error) !== 500 && lost.push(error) < 3),
    )
  } catch (error) {
    throw (isCode(error, 'QUOTA_EXCEEDED') && lost[0]) || error
  }
}

/** Returns how far this browser's clock is ahead of the server's, in milliseconds, by an object that the server just recorded. */
export function skewOf({ createdAt }: DbClientObject): number {
  return Date.now() - Date.parse(createdAt)
}

/**
 * Sends and confirms an attempt. What becomes of one that fails: it stays in its slot if the response was not the API's own or
 * proves nothing, or if it can be resumed. Otherwise, and always after an abort that is no pause, it is ended at the server. If it turns
 * out to be confirmed, and its bytes are this file's, the result is its object.
 */
export async function conclude(
  transfer: Transfer,
  slot: Slot,
  attempt: KeptAttempt,
  send: () => Promise<DbClientObject>,
): Promise<DbClientObject> {
  const { signal } = transfer
  try {
    const object = await send()
    slot.clear()
    if (object.checking) await rememberSent(transfer, attempt)
    return object
  } catch (error) {
    if (slot.isTaken()) throw error
    if (hasEnded(error)) {
      slot.clear()
      if (isCode(error, 'UPLOAD_REJECTED')) await rememberSent(transfer, attempt)
      throw error
    }
    attempt.failure = failureOf(error)
    const isForeign = isCode(error, 'UNEXPECTED_RESPONSE') && error.path !== null
    const isUnproven = isGone(error) && !isOver(error, attempt)
    if (
      (isForeign || isUnproven || (attempt.identity && isResumable(error))) &&
      (!signal.aborted || isCode(signal.reason, 'TIMEOUT') || isPause(signal.reason))
    ) {
      slot.write(attempt)
      // Now, because the person may never come back.
      if (attempt.identity && attempt.failure)
        void attemptCalls(slot, attempt)
          .list(END_LIMIT)
          .catch(() => {})
      throw error
    }
    const object = await endAttempt(slot, attempt)
    if (object && isWhole(attempt)) return object
    throw error
  }
}

/** Returns whether the upload can be resumed once the network, the server, the bucket or the session is back. */
function isResumable(error: unknown): boolean {
  return (
    isTransient(error) || isCode(error, 'PAUSED', 'TIMEOUT', 'UNEXPECTED_RESPONSE') || statusOf(error) === 401
  )
}

/** Returns what to tell the server of an error of the bucket. */
function failureOf(error: unknown): Failure | undefined {
  const { path, status = null, params, message } = Object(error) as S3ClientError
  if (path !== null || isCode(error, 'ABORTED', 'PAUSED', 'TIMEOUT')) return undefined
  return { status, message: String((params && params['body']) || message).slice(0, 500) }
}

/** Returns how many bytes of one file the bucket has, of an upload in parts. */
export function loadedOf({ object, partSize, digests }: KeptAttempt): number {
  const add = (sum: number, known: unknown, part: number) =>
    Array.isArray(known) ? sum + Math.min(partSize!, object.declaredSize! - (part - 1) * partSize!) : sum
  return digests.reduce(add, 0)
}

/** Returns whether the bucket may have all bytes, of one file. */
export function isWhole(attempt: KeptAttempt): boolean | undefined {
  return attempt.uploadId ? loadedOf(attempt) === attempt.object.declaredSize : attempt.sent
}

/** Limits how long the client waits for the server when it settles or ends an attempt. */
export const END_LIMIT = { timeoutSeconds: 10 }

/**
 * Aborts an attempt at the server, which releases its quota. If the server can't be reached, the abort stays in the slot, to
 * be repeated. Resolves to the object if the attempt turns out to be confirmed: a confirm that was aborted, or whose response
 * was lost, may have succeeded.
 */
export async function endAttempt(slot: Slot, attempt: KeptAttempt): Promise<DbClientObject | undefined> {
  const { abort, finish } = attemptCalls(slot, attempt)
  let object: DbClientObject | undefined
  slot.write({ ...attempt, aborted: true })
  try {
    await abort(END_LIMIT).catch(async (error: unknown) => {
      if (!isGone(error)) throw error
      object = await finish(END_LIMIT)
    })
  } catch (error) {
    if (!isOver(error, attempt) || !slot.isCurrent()) return undefined
  }
  slot.clear()
  return object
}

/** Returns whether the server doesn't know an attempt, cannot know it, or no longer has the operation. */
export function isGone(error: unknown): boolean {
  return isCode(error, 'NOT_FOUND', 'OBJECT_NOT_FOUND', 'VALIDATION_ERROR')
}

/**
 * Returns whether an error proves that an attempt has ended. While its upload URL is valid, it can't have expired: a server that
 * doesn't know it may have been asked by another account.
 */
export function isOver(error: unknown, { until }: KeptAttempt): boolean {
  return hasEnded(error) || (isGone(error) && (isCode(error, 'VALIDATION_ERROR') || !(until > Date.now())))
}

/**
 * Returns whether the server says that it has ended an attempt, because its bytes have failed a check or the bucket no longer has its
 * parts.
 */
function hasEnded(error: unknown): boolean {
  return (
    isCode(error, 'UPLOAD_REJECTED') ||
    (isCode(error, 'OBJECT_NOT_FOUND') && !!error.params && error.params['ended'] === true)
  )
}
