import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { OBJECT, withProperties } from '../../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../../core/store/records.js'
import { confirmUpload } from '../../attempts/confirm-upload.js'
import { completeInBucket } from '../../attempts/multipart.js'
import {
  multipartAttemptBody,
  notFound,
  objectOf,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/attempt-reference.js'
import { bytesOf } from '../../record-bytes.js'
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
      // Without the signal of the request, because all bytes have been sent: the rest continues after the client disconnects.
      await completeInBucket(dependencies, row, { ...bytesOf(row), uploadId })
      const object = await confirmUpload(dependencies, row, { request, operation: OPERATION })
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}
