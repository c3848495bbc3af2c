import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import type { Guard } from '../../core/guards.js'
import { described, type HttpField } from '../../core/http/fields.js'
import type { JsonSchema } from '../../core/json.js'
import { MAX_PARTS } from '../../core/object-storage.js'
import { BYTES, MOMENT, OBJECT, SIGNED_URL, withProperties } from '../../core/openapi/schemas.js'
import { integer, optional, text } from '../../core/store/inputs/fields.js'
import { toClientObject } from '../../core/store/records.js'
import { invalid, shown } from '../../core/store/validation/checks.js'
import { reserveUpload, urlExpiry } from '../attempts/begin.js'
import { endDropped } from '../attempts/confirm.js'
import { attemptNotFound } from '../attempts/errors.js'
import { bytesOf, storageURL } from '../storage.js'
import type { MultipartDependencies } from '../dependencies.js'
import { beginMultipart, maxMultipartSize, partsOf } from '../attempts/parts.js'
import type { OperationPolicy } from '../options.js'
import type { RouteTable } from '../upload-routes/options.js'
import { failure, multipartFields, ownUnfinished, startSteps, UPLOAD_REQUEST_ERRORS } from './input.js'
import { abortEndpoint, confirmEndpoint } from './uploads.js'

const MAX_URLS = 100

const partNumber = integer(1, MAX_PARTS)

const PART_SIZE: JsonSchema = {
  ...BYTES,
  minimum: 1,
  description: 'Size of every part except the last, in bytes. The last may be smaller.',
}

const partNumbers: HttpField<readonly number[]> = {
  isRequired: true,
  schema: { type: 'array', items: partNumber.schema, minItems: 1, maxItems: MAX_URLS },
  read(value, name, now) {
    if (!Array.isArray(value) || value.length === 0 || value.length > MAX_URLS) {
      const given = Array.isArray(value) ? `an array of ${value.length}` : shown(value)
      throw invalid(name, `must be an array of 1 to ${MAX_URLS} part numbers (got ${given}).`)
    }
    return value.map((number: unknown) => partNumber.read(number, name, now))
  },
}

const after = described(
  optional(integer(0, MAX_PARTS), () => 0),
  'A part number: `next` of the previous page.',
)

/** Returns the endpoints of multipart uploads. All but the first take the attempt that the first one started. */
export function multipartEndpoints(
  dependencies: MultipartDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
  uploadGuard: Guard | null | undefined,
): readonly Endpoint[] {
  const fields = multipartFields(dependencies.bucket)
  return [
    beginEndpoint(dependencies, [uploadGuard, policy.guard], routes),
    signPartsEndpoint(dependencies, policy),
    listPartsEndpoint(dependencies),
    confirmEndpoint(dependencies, {
      path: '/multipart/complete',
      operation: 'multipart.complete',
      fields,
      summary: 'Completes a multipart upload after all its parts have been sent. Idempotent.',
    }),
    abortEndpoint(dependencies, {
      path: '/multipart/abort',
      operation: 'multipart.abort',
      fields,
      summary: 'Aborts a multipart upload.',
    }),
  ]
}

/** `POST /multipart` starts a multipart upload: reserves it, then creates it in the bucket. */
function beginEndpoint(
  dependencies: MultipartDependencies,
  guards: readonly (Guard | null | undefined)[],
  routes: RouteTable,
) {
  const { records, multipart } = dependencies
  const operation = 'multipart'
  return guardedEndpoint({
    method: 'POST',
    path: '/multipart',
    operation,
    ...startSteps(dependencies, routes, {
      ...{ guards, isMultipart: true, maxSize: maxMultipartSize(dependencies.multipart) },
    }),
    describe: () => ({
      summary: 'Starts a multipart upload.',
      answer: {
        status: 201,
        description: 'The pending object, and the size of every part except the last.',
        body: withProperties({ object: OBJECT, uploadId: text('uploadId').schema, partSize: PART_SIZE }),
      },
      errors: [...UPLOAD_REQUEST_ERRORS, 'STORAGE_UNAVAILABLE'],
    }),
    async act(upload, _, { request, scope }) {
      const context = { request, operation }
      const { checkSeconds } = upload.route
      const terms = { scope, seconds: records.pendingTtlSeconds, checkSeconds }
      const reserved = await reserveUpload(dependencies, upload, terms, context)
      const row = await beginMultipart(dependencies, reserved, upload.contentType, context, request.signal)
      const { uploadId } = row
      return {
        status: 201,
        body: {
          object: toClientObject(row, records.visibleMetadata),
          uploadId,
          partSize: partsOf(upload.size, multipart).partSize,
        },
      }
    },
  })
}

/** `POST /multipart/parts` returns signed URLs, each for one part of an exact size. */
function signPartsEndpoint(dependencies: MultipartDependencies, policy: OperationPolicy): Endpoint {
  const { multipart, bucket, now } = dependencies
  return guardedEndpoint({
    method: 'POST',
    path: '/multipart/parts',
    operation: 'multipart.parts',
    body: { ...multipartFields(bucket), partNumbers },
    describe: () => ({
      summary: 'Signs upload URLs for parts. Send each part by PUT, without additional headers.',
      answer: {
        status: 200,
        description: 'A URL for each part, which accepts only the exact size of the part.',
        body: withProperties({
          parts: {
            type: 'array',
            items: withProperties({ partNumber: partNumber.schema, url: SIGNED_URL, expiresAt: MOMENT }),
          },
        }),
      },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    own: (attempt, { scope }) => ownUnfinished(dependencies.records, attempt, scope),
    async act({ partNumbers: wanted, uploadId }, row, call) {
      const expiresAt = urlExpiry(row, policy.urlSeconds, now())
      const size = row.declaredSize ?? 0
      // On some services, a URL for 0 bytes accepts a copy of any object.
      if (size === 0 && multipart.writePart) {
        throw invalid(
          'partNumbers',
          'must not be requested, because an empty upload is completed without parts.',
        )
      }
      const { count, sizeOf } = partsOf(size, multipart)
      const beyond = wanted.find((partNumber) => partNumber > count)
      if (beyond !== undefined) {
        throw invalid('partNumbers', `must be part numbers from 1 to ${count} (got ${beyond}).`)
      }
      const at = { ...bytesOf(row, call.request), uploadId }
      const signed = await Promise.all(
        wanted.map(async (partNumber) => {
          const { url, ...signed } = await multipart.signPart({
            ...at,
            partNumber,
            size: sizeOf(partNumber),
            expiresAt,
            writableUntil: row.expiresAt,
            serverURL: storageURL(call),
          })
          return { partNumber, url, expiresAt: (signed.expiresAt ?? expiresAt).toISOString() }
        }),
      )
      return { status: 200, body: { parts: signed } }
    },
  })
}

/** `POST /multipart/list` lists the parts that are in the bucket, in pages. Clients use it to resume an upload. */
function listPartsEndpoint(dependencies: MultipartDependencies): Endpoint {
  const { multipart } = dependencies
  return guardedEndpoint({
    method: 'POST',
    path: '/multipart/list',
    operation: 'multipart.list',
    body: { after, ...multipartFields(dependencies.bucket), failure },
    describe: () => ({
      summary: 'Lists the parts that are in the bucket, for resuming an upload.',
      answer: {
        status: 200,
        description: 'A page of parts by number. `next` is set only if there is another page.',
        body: withProperties(
          {
            partSize: PART_SIZE,
            parts: { type: 'array', items: withProperties({ partNumber: partNumber.schema, size: BYTES }) },
            next: partNumber.schema,
          },
          ['next'],
        ),
      },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    own: (attempt, { scope }) => ownUnfinished(dependencies.records, attempt, scope),
    async act({ after: last, uploadId, failure }, row, { request }) {
      dependencies.reportRefusedPut(row, failure, request)
      const at = { ...bytesOf(row, request), uploadId }
      const page = await multipart.listParts({ ...at, after: last })
      if (page === null) {
        await endDropped(dependencies, row)
        // Completed, but not confirmed: `/multipart/complete` does that.
        throw attemptNotFound()
      }
      const parts = page.parts.map(({ partNumber, size }) => ({ partNumber, size }))
      const { partSize } = partsOf(row.declaredSize ?? 0, multipart)
      return { status: 200, body: { partSize, parts, ...(page.next !== null && { next: page.next }) } }
    },
  })
}
