import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import type { StorageObject } from '../../core/store/records.js'
import {
  attemptBody,
  notFound,
  pendingUploadOf,
  readAttempt,
  type AttemptReference,
} from '../request-input/object-input.js'
import type { ServerParts } from '../server-parts.js'

/** `POST /upload/abort` ends an upload. What it has put in the bucket by then is `cleanUp`'s to remove. */
export function abortEndpoint({ records, bucket: defaultBucket }: ServerParts): Endpoint {
  return guardedEndpoint<AttemptReference, StorageObject>({
    method: 'POST',
    path: '/upload/abort',
    operation: 'upload.abort',
    describe: () => ({
      summary: 'Ends an upload.',
      body: attemptBody(defaultBucket),
      answer: { status: 204, description: 'It has ended.' },
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
