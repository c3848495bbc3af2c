import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { OBJECT, withProperties } from '../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../core/store/records.js'
import { confirmUpload } from '../attempts/confirm-upload.js'
import {
  attemptBody,
  notFound,
  objectOf,
  pendingUploadOf,
  readAttempt,
  type AttemptReference,
} from '../request-input/attempt-reference.js'
import type { ServerDependencies } from '../server-dependencies.js'

const OPERATION = 'upload.confirm'

/** `POST /upload/confirm` records an upload as an object if its bytes match the upload request. Idempotent. */
export function confirmEndpoint(dependencies: ServerDependencies): Endpoint {
  return guardedEndpoint<AttemptReference, StorageObject>({
    method: 'POST',
    path: '/upload/confirm',
    operation: OPERATION,
    describe: () => ({
      summary: 'Confirms an upload after its bytes have been sent. Idempotent.',
      body: attemptBody(dependencies.bucket),
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'UPLOAD_MISMATCH', 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source) => readAttempt(await source.json(), dependencies.bucket),
    own: async (attempt, { scope }) =>
      (await pendingUploadOf(dependencies.records, attempt, scope)) ??
      (await objectOf(dependencies.records, attempt, scope)) ??
      Promise.reject(notFound()),
    async act(_, row, { request }) {
      const object =
        row.status === 'active'
          ? row
          : await confirmUpload(dependencies, row, { request, operation: OPERATION })
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}
