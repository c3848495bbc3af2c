import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import {
  multipartAttemptBody,
  notFound,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/object-input.js'
import { abortOwnUpload } from '../../own-bytes.js'
import type { MultipartServerParts } from '../../server-parts.js'

const OPERATION = 'multipart.abort'

/** `POST /multipart/abort` ends an upload: first the row, then the parts. What is left of them is `cleanUp`'s to remove. */
export function abortMultipartEndpoint(parts: MultipartServerParts): Endpoint {
  const { records, bucket: defaultBucket } = parts
  return guardedEndpoint<MultipartAttemptReference, PendingMultipart>({
    method: 'POST',
    path: '/multipart/abort',
    operation: OPERATION,
    describe: () => ({
      summary: 'Ends an upload in parts.',
      body: multipartAttemptBody(defaultBucket),
      answer: { status: 204, description: 'It has ended.' },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    parse: async (source) => readMultipartAttempt(await source.json(), defaultBucket),
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ?? Promise.reject(notFound()),
    async act({ bucket, key, id, uploadId }, _, { scope, request }) {
      const released = await records.objects.release({ bucket, key, id, scope, uploadId })
      if (!released) throw notFound()
      await abortOwnUpload(parts, { ...released, uploadId }, { request, operation: OPERATION })
      return { status: 204 }
    },
  })
}
