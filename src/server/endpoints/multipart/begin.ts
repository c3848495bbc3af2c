import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { OBJECT, textSchema, withProperties } from '../../../core/openapi/schemas.js'
import { toClientObject } from '../../../core/store/records.js'
import { announcementBody, ANNOUNCEMENT_ERRORS } from '../../request-input/announcement-description.js'
import { endIfFailed } from '../../attempts/end-if-failed.js'
import { bytesOf } from '../../own-bytes.js'
import { MAX_MULTIPART_SIZE, partSizeOf } from './part-sizes.js'
import { PART_SIZE } from './parts-description.js'
import { reserveUpload } from '../../attempts/reserve-upload.js'
import type { MultipartServerParts } from '../../server-parts.js'
import type { OperationPolicy } from '../../options/server-policy.js'
import { readAnnouncement, type UploadAnnouncement } from '../../request-input/upload-announcement.js'
import type { RouteTable } from '../../options/upload-routes.js'

const OPERATION = 'multipart'

/** `POST /multipart` begins an upload in parts: reserves it, and has the bucket begin one. */
export function beginMultipartEndpoint(
  parts: MultipartServerParts,
  policy: OperationPolicy,
  routes: RouteTable,
): Endpoint {
  const { multipart, records } = parts
  return guardedEndpoint<UploadAnnouncement, null>({
    method: 'POST',
    path: '/multipart',
    operation: OPERATION,
    describe: () => ({
      summary: 'Announces an upload in parts.',
      body: announcementBody(routes),
      answer: {
        status: 201,
        description: 'The pending object, and the size of every part but the last.',
        body: withProperties({ object: OBJECT, uploadId: textSchema('uploadId'), partSize: PART_SIZE }),
      },
      errors: [...ANNOUNCEMENT_ERRORS, 'STORAGE_UNAVAILABLE'],
    }),
    parse: async (source, { scope, known }) =>
      readAnnouncement(await source.json(), { routes, maxSize: MAX_MULTIPART_SIZE, scope, known }),
    // Nothing is owned yet: the store decides, in the same step in which it reserves.
    own: () => null,
    guard: ({ route, key, size }) => ({
      guards: [policy.guard, route.guard],
      context: { bucket: route.bucket, key, route: route.name, size },
    }),
    async act(announcement, _, call) {
      const { request } = call
      const terms = { seconds: records.pendingTtlSeconds, operation: OPERATION }
      const reserved = await reserveUpload(parts, announcement, terms, call)
      // Only now the bucket: whatever it begins, the store knows the place of it already. What has no id in the store,
      // because a step failed or the process stopped, `cleanUp` finds there.
      const row = await endIfFailed(parts, reserved, { request, operation: OPERATION }, async () => {
        const { bucket, key, id } = reserved
        const { contentType } = announcement
        const at = bytesOf(reserved, request.signal)
        const { uploadId } = await multipart.create({ ...at, contentType, attemptId: id })
        return records.objects.setUploadId({ bucket, key, id, uploadId })
      })
      const { uploadId } = row
      return {
        status: 201,
        body: { object: toClientObject(row), uploadId, partSize: partSizeOf(announcement.size) },
      }
    },
  })
}
