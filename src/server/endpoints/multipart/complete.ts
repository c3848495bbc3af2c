import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { OBJECT, withProperties } from '../../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../../core/store/records.js'
import { confirmUpload, mismatch } from '../../attempts/confirm-upload.js'
import {
  multipartAttemptBody,
  notFound,
  objectOf,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/attempt-reference.js'
import type { MultipartReference, MultipartStorage, StoredPart } from '../../../core/object-storage.js'
import { bytesOf } from '../../record-bytes.js'
import { partCountOf, sizeOfPart } from './part-sizes.js'
import type { MultipartDependencies } from '../../server-dependencies.js'

const OPERATION = 'multipart.complete'

/** `POST /multipart/complete` assembles the parts and records the object, if they match the upload request. Idempotent. */
export function completeMultipartEndpoint(dependencies: MultipartDependencies): Endpoint {
  const { records } = dependencies
  return guardedEndpoint<MultipartAttemptReference, StorageObject | PendingMultipart>({
    method: 'POST',
    path: '/multipart/complete',
    operation: OPERATION,
    describe: () => ({
      summary: 'Completes a multipart upload after all its parts have been sent. Idempotent.',
      body: multipartAttemptBody(dependencies.bucket),
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'UPLOAD_MISMATCH', 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source) => readMultipartAttempt(await source.json(), dependencies.bucket),
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ??
      (await objectOf(records, attempt, scope)) ??
      Promise.reject(notFound()),
    async act({ uploadId }, row, { request }) {
      if (row.status === 'active') return { status: 200, body: { object: toClientObject(row) } }
      await completeInBucket(dependencies, row, { ...bytesOf(row, request.signal), uploadId })
      const object = await confirmUpload(dependencies, row, { request, operation: OPERATION })
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}

/**
 * Completes the upload in the bucket. Ignores whether this call did: an earlier or concurrent request may have, so the caller
 * checks the object.
 * @throws StorageError `UPLOAD_MISMATCH`, before completing anything, if the parts do not match the upload request.
 */
async function completeInBucket(
  { multipart }: MultipartDependencies,
  row: StorageObject,
  at: MultipartReference,
): Promise<void> {
  const stored = await storedParts(multipart, at)
  if (stored === null) return
  checkParts(row.declaredSize ?? 0, stored)
  await multipart.complete({ ...at, parts: stored.map(({ partNumber, eTag }) => ({ partNumber, eTag })) })
}

/** Checks that every part is there with its expected size, and no others. Their sizes then add up to the file's. */
function checkParts(size: number, stored: readonly StoredPart[]): void {
  const count = partCountOf(size)
  const matching = stored.filter(
    (part) => part.partNumber <= count && part.size === sizeOfPart(size, part.partNumber),
  )
  const found = new Set(matching.map(({ partNumber }) => partNumber)).size
  if (found === count && stored.length === count) return
  throw mismatch(
    `The bucket has ${found} of the ${count} parts with the expected size. Upload the missing parts and complete again.`,
  )
}

/** Returns all parts in the bucket by part number, or `null` if there is no such upload. */
async function storedParts(
  multipart: MultipartStorage,
  at: MultipartReference,
): Promise<readonly StoredPart[] | null> {
  const parts: StoredPart[] = []
  for (let after: number | null = 0; after !== null;) {
    const page = await multipart.listParts({ ...at, after })
    if (page === null) return null
    parts.push(...page.parts)
    after = page.next
  }
  return parts
}
