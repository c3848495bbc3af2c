import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { OBJECT, withProperties } from '../../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../../core/store/records.js'
import { confirmStored, mismatch } from '../../attempts/confirm-stored.js'
import {
  multipartAttemptBody,
  notFound,
  objectOf,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/object-input.js'
import type { MultipartReference, StoredPart } from '../../../core/object-storage.js'
import { bytesOf } from '../../own-bytes.js'
import { partCountOf, sizeOfPart } from './part-sizes.js'
import type { MultipartServerParts } from '../../server-parts.js'
import { storedParts } from './stored-parts.js'

const OPERATION = 'multipart.complete'

/** `POST /multipart/complete` makes an object of the parts, if they are what was announced. May be repeated. */
export function completeMultipartEndpoint(parts: MultipartServerParts): Endpoint {
  const { records } = parts
  return guardedEndpoint<MultipartAttemptReference, StorageObject | PendingMultipart>({
    method: 'POST',
    path: '/multipart/complete',
    operation: OPERATION,
    describe: () => ({
      summary: 'Makes an object of an upload whose parts have all arrived. May be repeated.',
      body: multipartAttemptBody(parts.bucket),
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'UPLOAD_MISMATCH', 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source) => readMultipartAttempt(await source.json(), parts.bucket),
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ??
      (await objectOf(records, attempt, scope)) ??
      Promise.reject(notFound()),
    async act({ uploadId }, row, { request }) {
      if (row.status === 'active') return { status: 200, body: { object: toClientObject(row) } }
      await completeInBucket(parts, row, { ...bytesOf(row, request.signal), uploadId })
      const object = await confirmStored(parts, row, { request, operation: OPERATION })
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}

/**
 * Has the bucket put the parts together. Whether it did, or had done so before, is for a look at the object to tell: an
 * earlier request may have been interrupted there, and another may be doing the same.
 * @throws StorageError `UPLOAD_MISMATCH` before anything is put together, if the parts are not all of what was announced.
 */
async function completeInBucket(
  { multipart }: MultipartServerParts,
  row: StorageObject,
  at: MultipartReference,
): Promise<void> {
  const stored = await storedParts(multipart, at)
  if (stored === null) return
  checkParts(row.declaredSize ?? 0, stored)
  await multipart.complete({ ...at, parts: stored.map(({ partNumber, eTag }) => ({ partNumber, eTag })) })
}

/** Each part once, and each of its own size; so their sizes add up to the whole. */
function checkParts(size: number, stored: readonly StoredPart[]): void {
  const count = partCountOf(size)
  const right = stored.filter(
    (part) => part.partNumber <= count && part.size === sizeOfPart(size, part.partNumber),
  )
  const there = new Set(right.map(({ partNumber }) => partNumber)).size
  if (there === count && stored.length === count) return
  throw mismatch(
    `The bucket has ${there} of the ${count} parts as announced; send the others and complete again.`,
  )
}
