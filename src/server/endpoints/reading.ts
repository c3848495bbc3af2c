import { createReadAccess } from '../../core/db/read-access.js'
import { readingEndpoint, type Endpoint, type InputSource } from '../../core/http/endpoint.js'
import type { EndpointDescription } from '../../core/http/endpoint-description.js'
import type { NamedObject } from '../../core/http/reference-input.js'
import type { Reply } from '../../core/http/response.js'
import type { SignDownloadInput } from '../../core/object-storage.js'
import type { ReadOperation } from '../../core/plugin.js'
import type { StorageObject } from '../../core/store/records.js'
import type { OperationPolicy } from '../options/server-policy.js'
import { bytesOf } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import { storageURL } from '../storage-mount.js'

/** What an endpoint decides about the URL that it signs. */
export type UrlTerms = Pick<SignDownloadInput, 'expiresAt' | 'signedAt' | 'disposition' | 'cacheControl'>

/** What `GET /download` and `GET /file` do differently. */
export interface Reading<Input extends NamedObject> {
  readonly path: '/download' | '/file'
  readonly operation: Exclude<ReadOperation, 'object'>
  describe(): Omit<EndpointDescription, 'errors'>
  parse(source: InputSource): Input
  terms(input: Input, object: StorageObject): UrlTerms
  reply(url: string, terms: UrlTerms): Reply
}

/**
 * The flow of `GET /download` and `GET /file`: finds an active object that the caller may read, runs the guard, and signs a URL
 * of its bytes.
 */
export function signedReadingEndpoint<Input extends NamedObject>(
  { storage, records }: ServerDependencies,
  policy: OperationPolicy,
  reading: Reading<Input>,
): Endpoint {
  const { path, operation } = reading
  const readAccess = records.readAccess ?? createReadAccess(records.objects, null)
  return readingEndpoint<Input, StorageObject>(readAccess.admitsAnonymous, {
    method: 'GET',
    path,
    operation,
    describe: () => ({
      ...reading.describe(),
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    parse: (source) => reading.parse(source),
    own: (input, { request, scope }) => readAccess.find(input, 'active', { operation, request, scope }),
    guard: (_, object) => {
      const { bucket, key, route, size } = object
      return { guards: [policy.guard], context: { bucket, key, object, route, size } }
    },
    async act(input, object, call) {
      const terms = reading.terms(input, object)
      const { url } = await storage.signDownload({
        ...bytesOf(object, call.request),
        filename: object.filename ?? object.key,
        contentType: object.contentType,
        ...terms,
        serverURL: storageURL(call),
      })
      return reading.reply(url, terms)
    },
  })
}
