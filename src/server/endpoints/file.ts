import type { Endpoint } from '../../core/http/endpoint.js'
import { namedObjectQuery, readNamedObject, type NamedObject } from '../../core/http/reference-input.js'
import type { Disposition } from '../../core/object-storage.js'
import { checkOneOf, optional } from '../../core/store/validation/checks.js'
import { dispositionFor } from '../inline-types.js'
import { cacheablePeriod } from '../lifetimes.js'
import type { OperationPolicy } from '../options/server-policy.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { signedReadingEndpoint } from './reading.js'

type FileInput = NamedObject & { readonly disposition: Disposition }

const DISPOSITIONS = ['inline', 'attachment'] as const satisfies readonly Disposition[]

/** `GET /file` redirects to the bytes of an active object, for `<img src>`, `<video>` and `<a href>`. */
export function fileEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { bucket, now } = dependencies
  return signedReadingEndpoint<FileInput>(dependencies, policy, {
    path: '/file',
    operation: 'file',
    describe: () => ({
      summary: 'Redirects to the bytes of an active object, so that a page can embed or link it.',
      query: {
        ...namedObjectQuery(bucket),
        disposition: {
          description:
            'Default: attachment. `inline` applies to images, audio, video, PDF and plain text, but not to types ' +
            'that end in `+xml`. Everything else is sent as an attachment.',
          schema: { type: 'string', enum: DISPOSITIONS },
        },
      },
      answer: { status: 302, description: 'The signed URL of the bytes.' },
    }),
    parse: ({ query }) => ({
      ...readNamedObject(query, bucket),
      disposition:
        optional(query.get('disposition'), (value) => checkOneOf('disposition', value, DISPOSITIONS)) ??
        'attachment',
    }),
    terms: ({ disposition }, { contentType, storageKey }) => ({
      ...cacheablePeriod(now(), policy.urlSeconds),
      disposition: dispositionFor(disposition, contentType),
      // Bytes without a storage key belong to the application, which may change them.
      cacheControl: storageKey === null ? null : `private, immutable, max-age=${policy.urlSeconds}`,
    }),
    reply: (url) => ({ status: 302, location: headerText(url) }),
  })
}

/** Returns a URL as a header can contain it. @throws TypeError if it isn't one. */
function headerText(url: string): string {
  return /^[!-~]+$/.test(url) ? url : new URL(url).href
}
