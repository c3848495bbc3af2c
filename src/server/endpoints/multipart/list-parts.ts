import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { BYTES, nullable, withProperties } from '../../../core/openapi/schemas.js'
import { checkInteger, optional } from '../../../core/store/validation/scalars.js'
import {
  multipartAttemptBody,
  notFound,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/object-input.js'
import { bytesOf } from '../../own-bytes.js'
import { MAX_PARTS, partSizeOf } from './part-sizes.js'
import { PART_NUMBER, PART_SIZE } from './parts-description.js'
import type { MultipartServerParts } from '../../server-parts.js'

interface ListInput extends MultipartAttemptReference {
  readonly after: number
}

/** `POST /multipart/list` tells which parts lie in the bucket, a page at a time, so that an upload can be resumed. */
export function listPartsEndpoint({ multipart, records, bucket }: MultipartServerParts): Endpoint {
  return guardedEndpoint<ListInput, PendingMultipart>({
    method: 'POST',
    path: '/multipart/list',
    operation: 'multipart.list',
    describe: () => ({
      summary: 'Lists the parts that have arrived, so that an upload can be resumed.',
      body: multipartAttemptBody(
        bucket,
        {
          after: nullable({
            type: 'integer',
            minimum: 0,
            maximum: MAX_PARTS,
            description: 'A part number; `next` of the page before.',
          }),
        },
        ['after'],
      ),
      answer: {
        status: 200,
        description: 'A page of them, by number; `next` is there only if another page is.',
        body: withProperties(
          {
            partSize: PART_SIZE,
            parts: { type: 'array', items: withProperties({ partNumber: PART_NUMBER, size: BYTES }) },
            next: PART_NUMBER,
          },
          ['next'],
        ),
      },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    async parse(source) {
      const body = await source.json()
      const after = optional(body['after'], (value) => checkInteger('after', value, 0, MAX_PARTS)) ?? 0
      return { ...readMultipartAttempt(body, bucket), after }
    },
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ?? Promise.reject(notFound()),
    async act({ after }, row, { request }) {
      const at = { ...bytesOf(row, request.signal), uploadId: row.uploadId }
      const page = await multipart.listParts({ ...at, after })
      // Completed, or gone: either way there is nothing to send to it any more. `/multipart/complete` tells them apart.
      if (page === null) throw notFound()
      const parts = page.parts.map(({ partNumber, size }) => ({ partNumber, size }))
      const partSize = partSizeOf(row.declaredSize ?? 0)
      return { status: 200, body: { partSize, parts, ...(page.next !== null && { next: page.next }) } }
    },
  })
}
