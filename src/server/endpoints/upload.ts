import { guardedEndpoint, type Call, type Endpoint } from '../../core/http/endpoint.js'
import { MOMENT, OBJECT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../core/store/records.js'
import { endIfFailed } from '../attempts/end-if-failed.js'
import { uploadReservationSeconds } from '../lifetimes.js'
import { bytesOf } from '../own-bytes.js'
import { reserveUpload } from '../attempts/reserve-upload.js'
import type { ServerParts } from '../server-parts.js'
import type { OperationPolicy } from '../options/server-policy.js'
import { storageURL } from '../storage-subtree.js'
import { announcementBody, ANNOUNCEMENT_ERRORS } from '../request-input/announcement-description.js'
import { readAnnouncement, type UploadAnnouncement } from '../request-input/upload-announcement.js'
import type { RouteTable } from '../options/upload-routes.js'
import { urlExpiry } from '../attempts/url-expiry.js'

/** The most bytes that a bucket takes in one PUT. */
const MAX_UPLOAD_SIZE = 5 * 1024 ** 3

const OPERATION = 'upload'

const SIGNED_UPLOAD = withProperties({
  method: { const: 'PUT' },
  url: SIGNED_URL,
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  expiresAt: MOMENT,
})

/** `POST /upload` begins an upload: reserves it, and gives out the URL that its bytes go to. */
export function uploadEndpoint(parts: ServerParts, policy: OperationPolicy, routes: RouteTable): Endpoint {
  return guardedEndpoint<UploadAnnouncement, null>({
    method: 'POST',
    path: '/upload',
    operation: OPERATION,
    describe: () => ({
      summary: 'Announces an upload. Its bytes then go to the URL of the answer, and are confirmed.',
      body: announcementBody(routes),
      answer: {
        status: 201,
        description:
          'The pending object, and how to send its bytes: with this method and just these headers.',
        body: withProperties({ object: OBJECT, upload: SIGNED_UPLOAD }),
      },
      errors: [...ANNOUNCEMENT_ERRORS, 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source, { scope, known }) =>
      readAnnouncement(await source.json(), { routes, maxSize: MAX_UPLOAD_SIZE, scope, known }),
    // Nothing is owned yet: the store decides, in the same step in which it reserves.
    own: () => null,
    guard: ({ route, key, size }) => ({
      guards: [policy.guard, route.guard],
      context: { bucket: route.bucket, key, route: route.name, size },
    }),
    async act(announcement, _, call) {
      const { pendingTtlSeconds } = parts.records
      const seconds = uploadReservationSeconds(announcement.size, policy.urlSeconds, pendingTtlSeconds)
      const row = await reserveUpload(parts, announcement, { seconds, operation: OPERATION }, call)
      const context = { request: call.request, operation: OPERATION }
      const upload = await endIfFailed(parts, row, context, () =>
        signUpload(parts, row, announcement, policy.urlSeconds, call),
      )
      return { status: 201, body: { object: toClientObject(row), upload } }
    },
  })
}

async function signUpload(
  { storage, now }: ServerParts,
  row: StorageObject,
  { size, contentType }: UploadAnnouncement,
  urlSeconds: number,
  call: Call,
): Promise<object> {
  const expiresAt = urlExpiry(row, urlSeconds, now())
  const { method, url, headers } = await storage.signUpload({
    ...bytesOf(row, call.request.signal),
    size,
    contentType,
    attemptId: row.id,
    expiresAt,
    serverURL: storageURL(call),
  })
  return { method, url, headers, expiresAt: expiresAt.toISOString() }
}
