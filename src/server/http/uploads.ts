import { guardedEndpoint, type Call, type Endpoint } from '../../core/http/endpoint.js'
import { MOMENT, OBJECT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import { toClientObject, type StorageObject } from '../../core/store/records.js'
import {
  releaseOnFailure,
  reserveUpload,
  uploadReservationSeconds,
  urlExpiry,
  type UploadRequest,
} from '../attempts/begin.js'
import { confirmUpload } from '../attempts/confirm.js'
import { attemptNotFound } from '../attempts/errors.js'
import { abortMultipartUpload, removeBytes } from '../objects.js'
import { completeInBucket } from '../attempts/parts.js'
import { bytesOf, storageURL } from '../storage.js'
import type { ServerDependencies } from '../dependencies.js'
import type { OperationPolicy } from '../options.js'
import type { RouteTable } from '../upload-routes/options.js'
import {
  attemptFields,
  failure,
  type multipartFields,
  ownAttempt,
  ownPending,
  startSteps,
  UPLOAD_REQUEST_ERRORS,
} from './input.js'

/** The largest file that S3 accepts in a single PUT, in bytes. */
const MAX_UPLOAD_SIZE = 5 * 1024 ** 3

const SIGNED_UPLOAD = withProperties({
  method: { const: 'PUT' },
  url: SIGNED_URL,
  headers: { type: 'object', additionalProperties: { type: 'string' } },
  expiresAt: MOMENT,
})

export function uploadEndpoints(
  dependencies: ServerDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
): readonly Endpoint[] {
  const fields = attemptFields(dependencies.bucket)
  return [
    uploadEndpoint(dependencies, policy, routes),
    confirmEndpoint(dependencies, {
      path: '/upload/confirm',
      operation: 'upload.confirm',
      fields,
      summary: 'Confirms an upload after its bytes have been sent. Idempotent.',
    }),
    abortEndpoint(dependencies, {
      path: '/upload/abort',
      operation: 'upload.abort',
      fields,
      summary: 'Aborts an upload.',
    }),
  ]
}

/** `POST /upload` starts an upload: reserves it, and returns a signed URL for its bytes. */
function uploadEndpoint(dependencies: ServerDependencies, policy: OperationPolicy, routes: RouteTable) {
  const operation = 'upload'
  return guardedEndpoint({
    method: 'POST',
    path: '/upload',
    operation,
    ...startSteps(dependencies, routes, {
      ...{ guards: [policy.guard], isMultipart: false, maxSize: MAX_UPLOAD_SIZE },
    }),
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
      const terms = { scope: call.scope, seconds, checkSeconds: upload.route.checkSeconds }
      const row = await reserveUpload(dependencies, upload, terms, context)
      const signed = await releaseOnFailure(dependencies, row, context, () =>
        signUpload(dependencies, row, upload, policy.urlSeconds, call),
      )
      return {
        status: 201,
        body: { object: toClientObject(row, dependencies.records.visibleMetadata), upload: signed },
      }
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

/** What the endpoints that end single-PUT and multipart uploads differ in. */
interface AttemptEnd extends Pick<Endpoint, 'path' | 'operation'> {
  readonly fields: ReturnType<typeof attemptFields | typeof multipartFields>
  readonly summary: string
}

/** Creates the endpoint that records an upload as an object if its bytes match, after it has assembled any parts. Idempotent. */
export function confirmEndpoint(
  dependencies: ServerDependencies,
  { path, operation, fields, summary }: AttemptEnd,
): Endpoint {
  const { records, storage, now } = dependencies
  async function confirmed(row: StorageObject, request: Request): Promise<StorageObject> {
    if (row.status === 'active' || row.arrivedAt !== null) return row
    const { uploadId } = row
    // Without the signal of the request, because all bytes have been sent: the rest continues after the client disconnects.
    const isTaken =
      storage.multipart && uploadId !== null
        ? await completeInBucket(storage.multipart, row, { ...bytesOf(row), uploadId }, now)
        : false
    return confirmUpload(dependencies, row, { request, operation }, isTaken)
  }

  return guardedEndpoint({
    method: 'POST',
    path,
    operation,
    body: fields,
    describe: () => ({
      summary,
      answer: {
        status: 200,
        description:
          'The object. It is `pending` and `checking` if its bytes are checked before it is visible.',
        body: withProperties({ object: OBJECT }),
      },
      errors: [
        ...(['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'UPLOAD_MISMATCH'] as const),
        ...(['UPLOAD_REJECTED', 'STORAGE_UNAVAILABLE'] as const),
      ],
    }),
    own: (attempt, { scope }) => ownAttempt(records, attempt, scope),
    async act(_, row, { request }) {
      return {
        status: 200,
        body: { object: toClientObject(await confirmed(row, request), records.visibleMetadata) },
      }
    },
  })
}

/**
 * Creates the endpoint that ends an upload: first the row, then its parts, or its bytes if all have arrived. `cleanUp` removes what is
 * still in the bucket.
 */
export function abortEndpoint(
  dependencies: ServerDependencies,
  { path, operation, fields, summary }: AttemptEnd,
): Endpoint {
  const { records, reportRefusedPut } = dependencies
  return guardedEndpoint({
    method: 'POST',
    path,
    operation,
    body: { ...fields, failure },
    describe: () => ({
      summary,
      answer: { status: 204, description: 'The upload has ended.' },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND'],
    }),
    own: (attempt, { scope }) => ownPending(records, attempt, scope),
    async act({ failure }, row, { scope, request }) {
      reportRefusedPut(row, failure, request)
      const { bucket, key, id } = row
      // Without the upload id, which an attempt loses when it arrives. An object that it has become stays.
      const released = await records.objects.release({ bucket, key, id, scope })
      if (!released) throw attemptNotFound()
      const context = { request, operation }
      if (released.arrivedAt === null) await abortMultipartUpload(dependencies, released, context)
      else await removeBytes(dependencies, released, context)
      return { status: 204 }
    },
  })
}
