import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { OBJECT, textSchema, withProperties } from '../../../core/openapi/schemas.js'
import { toClientObject } from '../../../core/store/records.js'
import { beginMultipart } from '../../attempts/multipart.js'
import { MAX_MULTIPART_SIZE, partSizeOf } from '../../attempts/part-sizes.js'
import { reserveUpload } from '../../attempts/reserve-upload.js'
import { PART_SIZE } from './part-schemas.js'
import type { MultipartDependencies } from '../../server-dependencies.js'
import type { OperationPolicy } from '../../options/server-policy.js'
import {
  readUploadRequest,
  UPLOAD_REQUEST_ERRORS,
  uploadRequestBody,
  type UploadRequest,
} from '../../request-input/upload-request.js'
import type { RouteTable } from '../../options/upload-routes.js'

const OPERATION = 'multipart'

/** `POST /multipart` starts a multipart upload: reserves it, then creates it in the bucket. */
export function beginMultipartEndpoint(
  dependencies: MultipartDependencies,
  policy: OperationPolicy,
  routes: RouteTable,
): Endpoint {
  const { records } = dependencies
  return guardedEndpoint<UploadRequest, null>({
    method: 'POST',
    path: '/multipart',
    operation: OPERATION,
    describe: () => ({
      summary: 'Starts a multipart upload.',
      body: uploadRequestBody(routes),
      answer: {
        status: 201,
        description: 'The pending object, and the size of every part except the last.',
        body: withProperties({ object: OBJECT, uploadId: textSchema('uploadId'), partSize: PART_SIZE }),
      },
      errors: [...UPLOAD_REQUEST_ERRORS, 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source, { scope, request, known }) =>
      readUploadRequest(await source.json(), { routes, maxSize: MAX_MULTIPART_SIZE, scope, request, known }),
    // There is no object to own yet. The store checks ownership of the key as part of the reservation.
    own: () => null,
    guard: ({ route, key, size }) => ({
      guards: [policy.guard, route.guard],
      context: { bucket: route.bucket, key, route: route.name, size },
    }),
    async act(upload, _, { request, scope }) {
      const context = { request, operation: OPERATION }
      const terms = { scope, seconds: records.pendingTtlSeconds }
      const reserved = await reserveUpload(dependencies, upload, terms, context)
      const row = await beginMultipart(dependencies, reserved, upload.contentType, context, request.signal)
      const { uploadId } = row
      return {
        status: 201,
        body: { object: toClientObject(row), uploadId, partSize: partSizeOf(upload.size) },
      }
    },
  })
}
