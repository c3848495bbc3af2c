import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import {
  multipartAttemptBody,
  notFound,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/attempt-reference.js'
import { abortMultipartUpload } from '../../record-bytes.js'
import type { MultipartDependencies } from '../../server-dependencies.js'

const OPERATION = 'multipart.abort'

/** `POST /multipart/abort` ends an upload: first the row, then its parts. `cleanUp` removes any parts that remain. */
export function abortMultipartEndpoint(dependencies: MultipartDependencies): Endpoint {
  const { records, bucket: defaultBucket } = dependencies
  return guardedEndpoint<MultipartAttemptReference, PendingMultipart>({
    method: 'POST',
    path: '/multipart/abort',
    operation: OPERATION,
    describe: () => ({
      summary: 'Aborts a multipart upload.',
      body: multipartAttemptBody(defaultBucket),
      answer: { status: 204, description: 'The upload has ended.' },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    parse: async (source) => readMultipartAttempt(await source.json(), defaultBucket),
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ?? Promise.reject(notFound()),
    async act({ bucket, key, id, uploadId }, _, { scope, request }) {
      const released = await records.objects.release({ bucket, key, id, scope, uploadId })
      if (!released) throw notFound()
      await abortMultipartUpload(dependencies, { ...released, uploadId }, { request, operation: OPERATION })
      return { status: 204 }
    },
  })
}
