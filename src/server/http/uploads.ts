import { guardedEndpoint, type Call, type Endpoint } from '../../core/http/endpoint.js'
import { MOMENT, OBJECT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../core/store/records.js'
import {
  attemptNotFound,
  confirmUpload,
  releaseOnFailure,
  reserveUpload,
  uploadReservationSeconds,
  urlExpiry,
  type UploadRequest,
} from '../attempts/attempt.js'
import { bytesOf, storageURL } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'
import type { OperationPolicy } from '../options.js'
import type { RouteTable } from '../routes.js'
import { attemptFields, failure, ownAttempt, ownPending, startSteps, UPLOAD_REQUEST_ERRORS } from './input.js'

/** The largest file that S3 accepts in a single PUT, in bytes. */
const MAX_UPLOAD_SIZE = 5 * 1024 ** 3

const SIGNED_UPLOAD = withProperties({
  method: { const: 'PUT' },
  url: SIGNED_URL,
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  expiresAt: MOMENT,
})

/** Returns the endpoints of single-PUT uploads. */
export function uploadEndpoints(
  dependencies: ServerDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
): readonly Endpoint[] {
  return [
    uploadEndpoint(dependencies, policy, routes),
    confirmEndpoint(dependencies),
    abortEndpoint(dependencies),
  ]
}

/** `POST /upload` starts an upload: reserves it, and returns a signed URL for its bytes. */
function uploadEndpoint(
  dependencies: ServerDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
): Endpoint {
  const operation = 'upload'
  return guardedEndpoint({
    method: 'POST',
    path: '/upload',
    operation,
    ...startSteps(routes, policy, MAX_UPLOAD_SIZE),
    describe: () => ({
      summary: 'Starts an upload. Send the bytes to the returned URL, then confirm the upload.',
      answer: {
        status: 201,
        description: 'The pending object, and the signed request for its bytes. Send exactly these headers.',
        body: withProperties({ object: OBJECT, upload: SIGNED_UPLOAD }),
      },
      errors: [...UPLOAD_REQUEST_ERRORS, 'STORAGE_UNAVAILABLE'],
    }),
    async act(upload, _, call) {
      const { pendingTtlSeconds } = dependencies.records
      const seconds = uploadReservationSeconds(upload.size, policy.urlSeconds, pendingTtlSeconds)
      const context = { request: call.request, operation }
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
  const { method, url, headers, ...signed } = await storage.signUpload(
    Object.assign(bytesOf(row, call.request), {
      size,
      contentType,
      attemptId: row.id,
      expiresAt,
      writableUntil: row.expiresAt,
      serverURL: storageURL(call),
    }),
  )
  return { method, url, headers, expiresAt: (signed.expiresAt ?? expiresAt).toISOString() }
}

/** `POST /upload/confirm` records an upload as an object if its bytes match the upload request. Idempotent. */
function confirmEndpoint(dependencies: ServerDependencies): Endpoint {
  const { records, bucket } = dependencies
  const operation = 'upload.confirm'
  return guardedEndpoint({
    method: 'POST',
    path: '/upload/confirm',
    operation,
    body: attemptFields(bucket),
    describe: () => ({
      summary: 'Confirms an upload after its bytes have been sent. Idempotent.',
      answer: { status: 200, description: 'The object.', body: withProperties({ object: OBJECT }) },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'UPLOAD_MISMATCH', 'STORAGE_UNAVAILABLE'],
    }),
    own: (attempt, { scope }) => ownAttempt(records, attempt, scope),
    async act(_, row, { request }) {
      const object =
        row.status === 'active' ? row : await confirmUpload(dependencies, row, { request, operation })
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}

/** `POST /upload/abort` ends an upload. `cleanUp` removes the bytes that are already in the bucket. */
function abortEndpoint({ records, bucket: defaultBucket, refusedPuts }: ServerDependencies): Endpoint {
  return guardedEndpoint({
    method: 'POST',
    path: '/upload/abort',
    operation: 'upload.abort',
    body: { ...attemptFields(defaultBucket), failure },
    describe: () => ({
      summary: 'Aborts an upload.',
      answer: { status: 204, description: 'The upload has ended.' },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    own: (attempt, { scope }) => ownPending(records, attempt, scope),
    async act({ failure, bucket, key, id }, row, { scope, request }) {
      refusedPuts.report(row, failure, request)
      const released = await records.objects.release({ bucket, key, id, scope })
      if (!released) throw attemptNotFound()
      return { status: 204 }
    },
  })
}
