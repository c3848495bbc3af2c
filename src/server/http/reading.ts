import { createReadAccess } from '../../core/db/read-access.js'
import { readingEndpoint, type Endpoint, type EndpointDescription } from '../../core/http/endpoint.js'
import {
  described,
  namedObjectFields,
  readNamedObject,
  readSent,
  referenceFields,
  type HttpFields,
  type NamedObject,
  type SentValues,
} from '../../core/http/fields.js'
import type { Reply } from '../../core/http/response.js'
import type { Disposition, SignDownloadInput } from '../../core/object-storage.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import type { ReadOperation } from '../../core/plugin.js'
import { oneOf, optional } from '../../core/store/inputs/fields.js'
import type { StorageObject } from '../../core/store/records.js'
import { secondsAfter } from '../attempts/attempt.js'
import { bytesOf, storageURL } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'
import type { OperationPolicy } from '../options.js'
import { cacheablePeriod, dispositionFor, DISPOSITIONS } from '../url-terms.js'

/** Returns the endpoints that read objects. */
export function readingEndpoints(
  dependencies: ServerDependencies,
  policy: OperationPolicy,
): readonly Endpoint[] {
  return [downloadEndpoint(dependencies, policy), fileEndpoint(dependencies, policy)]
}

/** `GET /download` returns a signed download URL for an active object. */
function downloadEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { bucket, now } = dependencies
  const query = referenceFields(bucket)
  return signedReading(dependencies, policy, {
    path: '/download',
    operation: 'download',
    query,
    describe: () => ({
      summary: 'Returns a signed URL for downloading an active object.',
      answer: {
        status: 200,
        description: 'The URL, and when it expires.',
        body: withProperties({ url: SIGNED_URL, expiresAt: MOMENT }),
      },
    }),
    parse: (sent) => readSent(query, sent),
    terms: () => ({ expiresAt: secondsAfter(now(), policy.urlSeconds) }),
    reply: (url, { expiresAt }) => ({ status: 200, body: { url, expiresAt: expiresAt.toISOString() } }),
  })
}

const DISPOSITION = {
  disposition: described(
    optional<Disposition, Disposition>(oneOf(DISPOSITIONS), () => 'attachment'),
    'Default: attachment. `inline` applies to images, audio, video, PDF and plain text, but not to types ' +
      'that end in `+xml`. Everything else is sent as an attachment.',
  ),
}

/** `GET /file` redirects to the bytes of an active object, for `<img src>`, `<video>` and `<a href>`. */
function fileEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { bucket, now } = dependencies
  return signedReading<NamedObject & { readonly disposition: Disposition }>(dependencies, policy, {
    path: '/file',
    operation: 'file',
    query: { ...namedObjectFields(bucket), ...DISPOSITION },
    describe: () => ({
      summary: 'Redirects to the bytes of an active object, so that a page can embed or link it.',
      answer: { status: 302, description: 'The signed URL of the bytes.' },
    }),
    parse: (sent) => ({ ...readNamedObject(sent, bucket), ...readSent(DISPOSITION, sent) }),
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

/** What an endpoint decides about the URL that it signs. */
type UrlTerms = Pick<SignDownloadInput, 'expiresAt' | 'signedAt' | 'disposition' | 'cacheControl'>

/** What the two endpoints do differently. */
interface Reading<Input extends NamedObject> {
  readonly path: '/download' | '/file'
  readonly operation: Exclude<ReadOperation, 'object'>
  readonly query: HttpFields
  readonly describe: () => Omit<EndpointDescription, 'errors'>
  readonly parse: (sent: SentValues) => Input
  readonly terms: (input: Input, object: StorageObject) => UrlTerms
  readonly reply: (url: string, terms: UrlTerms) => Reply
}

/** Finds an active object that the caller may read, runs the guard, and signs a URL of its bytes. */
function signedReading<Input extends NamedObject>(
  { storage, records }: ServerDependencies,
  policy: OperationPolicy,
  { path, operation, query, describe, parse, terms: termsOf, reply }: Reading<Input>,
): Endpoint {
  const readAccess = records.readAccess ?? createReadAccess(records.objects, null)
  return readingEndpoint(readAccess.admitsAnonymous, {
    method: 'GET',
    path,
    operation,
    query,
    describe: () => ({
      ...describe(),
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    parse,
    own: (input, { request, scope }) => readAccess.find(input, 'active', { operation, request, scope }),
    guard: (_, object) => {
      const { bucket, key, route, size } = object
      return { guards: [policy.guard], context: { bucket, key, object, route, size } }
    },
    async act(input, object, call) {
      const terms = termsOf(input, object)
      const { url } = await storage.signDownload({
        ...bytesOf(object, call.request),
        filename: object.filename ?? object.key,
        contentType: object.contentType,
        ...terms,
        serverURL: storageURL(call),
      })
      return reply(url, terms)
    },
  })
}
