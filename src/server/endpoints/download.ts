import type { Endpoint } from '../../core/http/endpoint.js'
import { readReference, referenceQuery } from '../../core/http/reference-input.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import type { ObjectReference } from '../../core/store/records.js'
import { secondsAfter } from '../lifetimes.js'
import type { OperationPolicy } from '../options/server-policy.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { signedReadingEndpoint } from './reading.js'

/** `GET /download` returns a signed download URL for an active object. */
export function downloadEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { bucket, now } = dependencies
  return signedReadingEndpoint<ObjectReference>(dependencies, policy, {
    path: '/download',
    operation: 'download',
    describe: () => ({
      summary: 'Returns a signed URL for downloading an active object.',
      query: referenceQuery(bucket),
      answer: {
        status: 200,
        description: 'The URL, and when it expires.',
        body: withProperties({ url: SIGNED_URL, expiresAt: MOMENT }),
      },
    }),
    parse: ({ query }) => readReference(query, bucket),
    terms: () => ({ expiresAt: secondsAfter(now(), policy.urlSeconds) }),
    reply: (url, { expiresAt }) => ({ status: 200, body: { url, expiresAt: expiresAt.toISOString() } }),
  })
}
