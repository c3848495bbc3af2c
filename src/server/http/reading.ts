import { createReadAccess } from '../../core/db/read-access.js'
import {
  type Call,
  readingEndpoint,
  type Endpoint,
  type EndpointDescription,
} from '../../core/http/endpoint.js'
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
import { downloadHeaders, isHeaderText } from '../../core/http/download-headers.js'
import type { HeaderEntry, Reply } from '../../core/http/response.js'
import type { Disposition, SignDownloadInput, SignedDownload } from '../../core/object-storage.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import type { ReadOperation } from '../../core/plugin.js'
import { oneOf, optional } from '../../core/store/inputs/fields.js'
import type { StorageObject } from '../../core/store/records.js'
import { secondsAfter, cacheableTerms, DISPOSITIONS, notAfterEnd, presentationOf } from '../url-terms.js'
import { bytesOf, storageURL } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'
import type { DownloadPolicy } from '../options.js'

/** `GET /download` returns a signed download URL for an active object. */
function downloadEndpoint(dependencies: ServerDependencies, policy: DownloadPolicy): Endpoint {
  const { bucket, now } = dependencies
  return fileReading(dependencies, policy, {
    method: 'GET',
    path: '/download',
    operation: 'download',
    query: referenceFields(bucket),
    describe: () => ({
      summary: 'Returns a signed URL for downloading an active object.',
      answer: {
        status: 200,
        description: 'The URL, and when it expires.',
        body: withProperties({ url: SIGNED_URL, expiresAt: MOMENT }),
      },
    }),
    async act(_, object, sign) {
      const expiresAt = notAfterEnd(secondsAfter(now(), policy.urlSecondsOf(object)), object)
      const { url, ...signed } = await sign({ expiresAt })
      return { status: 200, body: { url, expiresAt: (signed.expiresAt ?? expiresAt).toISOString() } }
    },
  })
}

const DISPOSITION = {
  disposition: described(
    optional<Disposition, Disposition>(oneOf(DISPOSITIONS), () => 'attachment'),
    'Default: attachment. `inline` applies to images, audio, video, PDF and plain text, but not to types ' +
      'that end in `+xml`. Everything else is sent as an attachment.',
  ),
}

const FILE_QUERY = {
  ...DISPOSITION,
  cors: described(
    { ...optional(oneOf(['true', 'false'])), schema: { type: 'boolean' } },
    '`true`: scripts of a page will read the bytes. Not needed where the headers `Sec-Fetch-Mode` or `Origin` say so, ' +
      'which browsers do not send from pages on plain HTTP.',
  ),
}

/** Returns whether a script, a canvas, a font or captions need the bytes, and with them CORS headers from the bucket. */
function isInCorsMode({ headers }: Request): boolean {
  return headers.get('sec-fetch-mode') === 'cors' || headers.has('origin')
}

/** `GET /file` redirects to the bytes of an active object, for `<img src>`, `<video>` and `<a href>`. `HEAD` describes them. */
export function readingEndpoints(dependencies: ServerDependencies, policy: DownloadPolicy) {
  const { bucket, now } = dependencies
  const file = {
    path: '/file',
    operation: 'file',
    query: { ...namedObjectFields(bucket), ...FILE_QUERY },
    parse: (sent: SentValues) => ({ ...readNamedObject(sent, bucket), ...readSent(FILE_QUERY, sent) }),
  } as const
  return [
    downloadEndpoint(dependencies, policy),
    fileReading(dependencies, policy, {
      ...file,
      method: 'GET',
      describe: () => ({
        summary: 'Redirects to the bytes of an active object, so that a page can embed or link it.',
        answer: { status: 302, description: 'The signed URL of the bytes.' },
      }),
      async act({ disposition, cors }, object, sign, call) {
        const isForScripts = cors === 'true' || isInCorsMode(call.request)
        const { url } = await sign({
          ...cacheableTerms(now(), policy.urlSecondsOf(object), isForScripts, object),
          ...presentationOf(object.contentType, disposition),
          // Bytes without a storage key belong to the application, which may change them.
          ...(object.storageKey === null && { cacheControl: null }),
        })
        return { status: 302, location: headerText(locationOf(url, call)) }
      },
    }),
    // A signed URL permits one method, so the redirect would not.
    fileReading(dependencies, policy, {
      ...file,
      method: 'HEAD',
      describe: () => ({
        summary: 'Describes the bytes of an active object in headers, without a redirect.',
        answer: { status: 200, description: 'The size, type, file name and ETag of the bytes.', body: null },
      }),
      act: async ({ disposition }, object) => ({ status: 200, headers: fileHeaders(object, disposition) }),
    }),
  ]
}

/** Returns what a response with all bytes of an object would have. */
function fileHeaders(object: StorageObject, disposition: Disposition): readonly HeaderEntry[] {
  const { size, contentType, eTag } = object
  const { 'cache-control': _, ...headers } = downloadHeaders({
    filename: filenameOf(object),
    ...presentationOf(contentType, disposition),
  })
  return [
    ['content-length', String(size ?? 0)],
    ['accept-ranges', 'bytes'],
    ...Object.entries(headers),
    ...(eTag !== null && isHeaderText(eTag) ? [['etag', eTag] as const] : []),
  ]
}

function filenameOf({ filename, key }: StorageObject): string {
  return filename ?? key
}

/**
 * Returns a URL below the API as a path, because a proxy may have replaced its host. Not a relative one, which some routers resolve
 * by rules of their own.
 */
function locationOf(url: string, { baseURL }: Call<string | null>): string {
  if (!url.startsWith(`${baseURL}/`)) return url
  const { href, pathname, search } = new URL(url)
  // Two slashes would begin a host.
  return pathname.startsWith('//') ? href : pathname + search
}

/** Returns a URL as a header can contain it. @throws TypeError if it isn't one. */
function headerText(url: string): string {
  return /^[!-~]+$/.test(url) ? url : new URL(url).href
}

/** Signs a URL of the bytes that is valid as the endpoint decides. */
type SignBytes = (
  terms: Pick<SignDownloadInput, 'expiresAt' | 'signedAt' | 'disposition' | 'cacheControl'> &
    Partial<Pick<SignDownloadInput, 'contentType'>>,
) => Promise<SignedDownload>

interface FileReading<Input extends NamedObject> extends Pick<Endpoint, 'method' | 'path'> {
  readonly operation: Exclude<ReadOperation, 'object'>
  readonly query: HttpFields
  readonly describe: () => Omit<EndpointDescription, 'errors'>
  readonly parse?: (sent: SentValues) => Input
  readonly act: (
    input: Input,
    object: StorageObject,
    sign: SignBytes,
    call: Call<string | null>,
  ) => Promise<Reply>
}

/** Creates an endpoint that finds an active object which the caller may read, and runs the guard. */
function fileReading<Input extends NamedObject>(
  { storage, records, now }: ServerDependencies,
  policy: DownloadPolicy,
  { operation, describe, act, ...endpoint }: FileReading<Input>,
): Endpoint {
  const readAccess = records.readAccess ?? createReadAccess(records.objects, null, now)
  return readingEndpoint(readAccess.admitsAnonymous, {
    ...endpoint,
    operation,
    describe: () => ({
      ...describe(),
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    own: (input, { request, scope }) => readAccess.find(input, 'active', { operation, request, scope }),
    guard: (_, object) => {
      const { bucket, key, route, size } = object
      return { guards: [policy.guard], context: { bucket, key, object, route, size } }
    },
    act: (input, object, call) =>
      act(
        input,
        object,
        (terms) =>
          storage.signDownload({
            ...bytesOf(object, call.request),
            filename: filenameOf(object),
            contentType: object.contentType,
            ...terms,
            serverURL: storageURL(call),
          }),
        call,
      ),
  })
}
