import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { BYTES, nullable, withProperties } from '../../../core/openapi/schemas.js'
import { checkInteger, optional } from '../../../core/store/validation/checks.js'
import {
  multipartAttemptBody,
  notFound,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/attempt-reference.js'
import { bytesOf } from '../../record-bytes.js'
import { MAX_PARTS, partSizeOf } from '../../attempts/part-sizes.js'
import { PART_NUMBER, PART_SIZE } from './part-schemas.js'
import type { MultipartDependencies } from '../../server-dependencies.js'

interface ListInput extends MultipartAttemptReference {
  readonly after: number
}

/** `POST /multipart/list` lists the parts that are in the bucket, in pages. Clients use it to resume an upload. */
export function listPartsEndpoint({ multipart, records, bucket }: MultipartDependencies): Endpoint {
  return guardedEndpoint<ListInput, PendingMultipart>({
    method: 'POST',
    path: '/multipart/list',
    operation: 'multipart.list',
    describe: () => ({
      summary: 'Lists the parts that are in the bucket, for resuming an upload.',
      body: multipartAttemptBody(
        bucket,
        {
          after: nullable({
            type: 'integer',
            minimum: 0,
            maximum: MAX_PARTS,
            description: 'A part number: `next` of the previous page.',
          }),
        },
        ['after'],
      ),
      answer: {
        status: 200,
        description: 'A page of parts by number. `next` is set only if there is another page.',
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
      const at = { ...bytesOf(row, request), uploadId: row.uploadId }
      const page = await multipart.listParts({ ...at, after })
      // Completed or aborted: either way, it takes no more parts. `/multipart/complete` distinguishes the two.
      if (page === null) throw notFound()
      const parts = page.parts.map(({ partNumber, size }) => ({ partNumber, size }))
      const partSize = partSizeOf(row.declaredSize ?? 0)
      return { status: 200, body: { partSize, parts, ...(page.next !== null && { next: page.next }) } }
    },
  })
}
