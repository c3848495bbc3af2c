import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { readReference, referenceQuery } from '../../core/http/reference-input.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import type { ObjectReference, StorageObject } from '../../core/store/records.js'
import { secondsAfter } from '../lifetimes.js'
import { notFound } from '../request-input/object-input.js'
import { bytesOf } from '../own-bytes.js'
import type { ServerParts } from '../server-parts.js'
import type { OperationPolicy } from '../options/server-policy.js'
import { storageURL } from '../storage-subtree.js'

/** `GET /download` gives out a URL of an active object's bytes. */
export function downloadEndpoint(parts: ServerParts, policy: OperationPolicy): Endpoint {
  const { storage, records, now } = parts
  return guardedEndpoint<ObjectReference, StorageObject>({
    method: 'GET',
    path: '/download',
    operation: 'download',
    describe: () => ({
      summary: 'Gives out a URL of the bytes of an active object.',
      query: referenceQuery(parts.bucket),
      answer: {
        status: 200,
        description: 'Where the bytes are, until then.',
        body: withProperties({ url: SIGNED_URL, expiresAt: MOMENT }),
      },
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    parse: ({ query }) => readReference(query, parts.bucket),
    async own(reference, { scope }) {
      const object = await records.objects.findActive(reference)
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
