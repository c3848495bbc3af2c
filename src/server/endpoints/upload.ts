import { guardedEndpoint, type Call, type Endpoint } from '../../core/http/endpoint.js'
import { MOMENT, OBJECT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../core/store/records.js'
import { uploadReservationSeconds, urlExpiry } from '../lifetimes.js'
import { bytesOf } from '../record-bytes.js'
import { releaseOnFailure, reserveUpload } from '../attempts/reserve-upload.js'
import type { ServerDependencies } from '../server-dependencies.js'
import type { OperationPolicy } from '../options/server-policy.js'
import { storageURL } from '../storage-mount.js'
import {
  readUploadRequest,
  UPLOAD_REQUEST_ERRORS,
  uploadRequestBody,
  type UploadRequest,
} from '../request-input/upload-request.js'
import type { RouteTable } from '../options/upload-routes.js'

/** The largest file that S3 accepts in a single PUT, in bytes. */
const MAX_UPLOAD_SIZE = 5 * 1024 ** 3

const OPERATION = 'upload'

const SIGNED_UPLOAD = withProperties({
  method: { const: 'PUT' },
  url: SIGNED_URL,
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  expiresAt: MOMENT,
})

/** `POST /upload` starts an upload: reserves it, and returns a signed URL for its bytes. */
export function uploadEndpoint(
  dependencies: ServerDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
): Endpoint {
  return guardedEndpoint<UploadRequest, null>({
    method: 'POST',
    path: '/upload',
    operation: OPERATION,
    describe: () => ({
      summary: 'Starts an upload. Send the bytes to the returned URL, then confirm the upload.',
      body: uploadRequestBody(routes),
      answer: {
        status: 201,
        description: 'The pending object, and the signed request for its bytes. Send exactly these headers.',
        body: withProperties({ object: OBJECT, upload: SIGNED_UPLOAD }),
      },
      errors: [...UPLOAD_REQUEST_ERRORS, 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source, { scope, request, known }) =>
      readUploadRequest(await source.json(), { routes, maxSize: MAX_UPLOAD_SIZE, scope, request, known }),
    // There is no object to own yet. The store checks ownership of the key as part of the reservation.
    own: () => null,
    guard: ({ route, key, size }) => ({
      guards: [policy.guard, route.guard],
      context: { bucket: route.bucket, key, route: route.name, size },
    }),
    async act(upload, _, call) {
      const { pendingTtlSeconds } = dependencies.records
      const seconds = uploadReservationSeconds(upload.size, policy.urlSeconds, pendingTtlSeconds)
      const context = { request: call.request, operation: OPERATION }
      const row = await reserveUpload(dependencies, upload, { scope: call.scope, seconds }, context)
      const signed = await releaseOnFailure(dependencies, row, context, () =>
        signUpload(dependencies, row, upload, policy.urlSeconds, call),
      )
      return { status: 201, body: { object: toClientObject(row), upload: signed } }
    },
  })
}

async function signUpload(
  { storage, now }: ServerDependencies,
  row: StorageObject,
  { size, contentType }: UploadRequest,
  urlSeconds: number,
  call: Call,
): Promise<object> {
  const expiresAt = urlExpiry(row, urlSeconds, now())
  // Not a spread, which would create the signal.
  const { method, url, headers } = await storage.signUpload(
    Object.assign(bytesOf(row, call.request), {
      size,
      contentType,
      attemptId: row.id,
      expiresAt,
      writableUntil: row.expiresAt,
      serverURL: storageURL(call),
    }),
  )
  return { method, url, headers, expiresAt: expiresAt.toISOString() }
}
