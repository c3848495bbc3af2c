import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { OBJECT, withProperties } from '../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../core/store/records.js'
import { confirmStored } from '../attempts/confirm-stored.js'
import {
  attemptBody,
  notFound,
  objectOf,
  pendingUploadOf,
  readAttempt,
  type AttemptReference,
} from '../request-input/object-input.js'
import type { ServerParts } from '../server-parts.js'

const OPERATION = 'upload.confirm'

/** `POST /upload/confirm` makes an object of an upload, if the bucket has what was announced. May be repeated. */
export function confirmEndpoint(parts: ServerParts): Endpoint {
  return guardedEndpoint<AttemptReference, StorageObject>({
    method: 'POST',
    path: '/upload/confirm',
    operation: OPERATION,
    describe: () => ({
      summary: 'Makes an object of an upload whose bytes have arrived. May be repeated.',
      body: attemptBody(parts.bucket),
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'UPLOAD_MISMATCH', 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source) => readAttempt(await source.json(), parts.bucket),
    own: async (attempt, { scope }) =>
      (await pendingUploadOf(parts.records, attempt, scope)) ??
      (await objectOf(parts.records, attempt, scope)) ??
      Promise.reject(notFound()),
    async act(_, row, { request }) {
      const object =
        row.status === 'active' ? row : await confirmStored(parts, row, { request, operation: OPERATION })
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}
