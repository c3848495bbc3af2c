import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import type { StorageObject } from '../../core/store/records.js'
import {
  attemptBody,
  notFound,
  pendingUploadOf,
  readAttempt,
  type AttemptReference,
} from '../request-input/attempt-reference.js'
import type { ServerDependencies } from '../server-dependencies.js'

/** `POST /upload/abort` ends an upload. `cleanUp` removes the bytes that are already in the bucket. */
export function abortEndpoint({ records, bucket: defaultBucket }: ServerDependencies): Endpoint {
  return guardedEndpoint<AttemptReference, StorageObject>({
    method: 'POST',
    path: '/upload/abort',
    operation: 'upload.abort',
    describe: () => ({
      summary: 'Aborts an upload.',
      body: attemptBody(defaultBucket),
      answer: { status: 204, description: 'The upload has ended.' },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    parse: async (source) => readAttempt(await source.json(), defaultBucket),
    own: async (attempt, { scope }) =>
      (await pendingUploadOf(records, attempt, scope)) ?? Promise.reject(notFound()),
    async act({ bucket, key, id }, _, { scope }) {
      const released = await records.objects.release({ bucket, key, id, scope })
      if (!released) throw notFound()
      return { status: 204 }
    },
  })
}
