import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { readReference, referenceQuery } from '../../core/http/reference-input.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import type { ObjectReference, StorageObject } from '../../core/store/records.js'
import { secondsAfter } from '../lifetimes.js'
import { notFound } from '../request-input/attempt-reference.js'
import { bytesOf } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import type { OperationPolicy } from '../options/server-policy.js'
import { storageURL } from '../storage-mount.js'

/** `GET /download` returns a signed download URL for an active object. */
export function downloadEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { storage, records, now } = dependencies
  return guardedEndpoint<ObjectReference, StorageObject>({
    method: 'GET',
    path: '/download',
    operation: 'download',
    describe: () => ({
      summary: 'Returns a signed URL for downloading an active object.',
      query: referenceQuery(dependencies.bucket),
      answer: {
        status: 200,
        description: 'The URL, and when it expires.',
        body: withProperties({ url: SIGNED_URL, expiresAt: MOMENT }),
      },
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    parse: ({ query }) => readReference(query, dependencies.bucket),
    async own(reference, { scope }) {
      const object = await records.objects.findActive({ ...reference, scope })
      if (object?.scope !== scope) throw notFound()
      return object
    },
    guard: ({ bucket, key }, object) => ({
      guards: [policy.guard],
      context: { bucket, key, object, route: object.route, size: object.size },
    }),
    async act(_, object, call) {
      const expiresAt = secondsAfter(now(), policy.urlSeconds)
      const { url } = await storage.signDownload({
        ...bytesOf(object, call.request.signal),
        filename: object.filename ?? object.key,
        contentType: object.contentType,
        expiresAt,
        serverURL: storageURL(call),
      })
      return { status: 200, body: { url, expiresAt: expiresAt.toISOString() } }
    },
  })
}
