import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../../core/openapi/schemas.js'
import { invalid, shown } from '../../../core/store/validation/invalid.js'
import { checkInteger } from '../../../core/store/validation/scalars.js'
import {
  multipartAttemptBody,
  notFound,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/object-input.js'
import { bytesOf } from '../../own-bytes.js'
import { MAX_PARTS, partCountOf, sizeOfPart } from './part-sizes.js'
import { PART_NUMBER } from './parts-description.js'
import type { MultipartServerParts } from '../../server-parts.js'
import type { OperationPolicy } from '../../options/server-policy.js'
import { storageURL } from '../../storage-subtree.js'
import { urlExpiry } from '../../attempts/url-expiry.js'

/** How many URLs one request may ask for. */
const MAX_URLS = 100

interface PartsInput extends MultipartAttemptReference {
  readonly partNumbers: readonly number[]
}

/** `POST /multipart/parts` gives out URLs, each for one part of just its size. */
export function signPartsEndpoint(parts: MultipartServerParts, policy: OperationPolicy): Endpoint {
  const { multipart, records, now } = parts
  return guardedEndpoint<PartsInput, PendingMultipart>({
    method: 'POST',
    path: '/multipart/parts',
    operation: 'multipart.parts',
    describe: () => ({
      summary: 'Signs URLs to which parts are sent, by PUT and without further headers.',
      body: multipartAttemptBody(parts.bucket, {
        partNumbers: { type: 'array', items: PART_NUMBER, minItems: 1, maxItems: MAX_URLS },
      }),
      answer: {
        status: 200,
        description: 'A URL for each, which takes a part of just its size.',
        body: withProperties({
          parts: {
            type: 'array',
            items: withProperties({ partNumber: PART_NUMBER, url: SIGNED_URL, expiresAt: MOMENT }),
          },
        }),
      },
      errors: ['VALIDATION_ERROR', 'OBJECT_NOT_FOUND', 'STORAGE_UNAVAILABLE'],
    }),
    async parse(source) {
      const body = await source.json()
      return {
        ...readMultipartAttempt(body, parts.bucket),
        partNumbers: checkPartNumbers(body['partNumbers']),
      }
    },
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ?? Promise.reject(notFound()),
    async act({ partNumbers }, row, call) {
      const expiresAt = urlExpiry(row, policy.urlSeconds, now())
      const size = row.declaredSize ?? 0
      checkWithin(partCountOf(size), partNumbers)
      const at = { ...bytesOf(row, call.request.signal), uploadId: row.uploadId }
      const signed = await Promise.all(
        partNumbers.map(async (partNumber) => {
          const { url } = await multipart.signPart({
            ...at,
            partNumber,
            size: sizeOfPart(size, partNumber),
            expiresAt,
            serverURL: storageURL(call),
          })
          return { partNumber, url, expiresAt: expiresAt.toISOString() }
        }),
      )
      return { status: 200, body: { parts: signed } }
    },
  })
}

/** @throws StorageError `VALIDATION_ERROR` */
function checkPartNumbers(value: unknown): readonly number[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_URLS) {
    const given = Array.isArray(value) ? `${value.length} of them` : shown(value)
    throw invalid('partNumbers', `must be an array of 1 to ${MAX_URLS} part numbers, not ${given}.`)
  }
  return value.map((number: unknown) => checkInteger('partNumbers', number, 1, MAX_PARTS))
}

/** @throws StorageError `VALIDATION_ERROR` */
function checkWithin(partCount: number, partNumbers: readonly number[]): void {
  const beyond = partNumbers.find((partNumber) => partNumber > partCount)
  if (beyond === undefined) return
  throw invalid('partNumbers', `must not go beyond the last part, ${partCount}; ${beyond} does.`)
}
