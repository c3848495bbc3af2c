import { guardedEndpoint, type Endpoint } from '../../../core/http/endpoint.js'
import { MOMENT, SIGNED_URL, withProperties } from '../../../core/openapi/schemas.js'
import { checkInteger, invalid, shown } from '../../../core/store/validation/checks.js'
import {
  multipartAttemptBody,
  notFound,
  pendingMultipartOf,
  readMultipartAttempt,
  type MultipartAttemptReference,
  type PendingMultipart,
} from '../../request-input/attempt-reference.js'
import { bytesOf } from '../../record-bytes.js'
import { MAX_PARTS, partCountOf, sizeOfPart } from '../../attempts/part-sizes.js'
import { PART_NUMBER } from './part-schemas.js'
import type { MultipartDependencies } from '../../server-dependencies.js'
import type { OperationPolicy } from '../../options/server-policy.js'
import { storageURL } from '../../storage-mount.js'
import { urlExpiry } from '../../lifetimes.js'

/** How many URLs one request may ask for. */
const MAX_URLS = 100

interface PartsInput extends MultipartAttemptReference {
  readonly partNumbers: readonly number[]
}

/** `POST /multipart/parts` returns signed URLs, each for one part of an exact size. */
export function signPartsEndpoint(dependencies: MultipartDependencies, policy: OperationPolicy): Endpoint {
  const { multipart, records, now } = dependencies
  return guardedEndpoint<PartsInput, PendingMultipart>({
    method: 'POST',
    path: '/multipart/parts',
    operation: 'multipart.parts',
    describe: () => ({
      summary: 'Signs upload URLs for parts. Send each part by PUT, without additional headers.',
      body: multipartAttemptBody(dependencies.bucket, {
        partNumbers: { type: 'array', items: PART_NUMBER, minItems: 1, maxItems: MAX_URLS },
      }),
      answer: {
        status: 200,
        description: 'A URL for each part, which accepts only the exact size of the part.',
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
        ...readMultipartAttempt(body, dependencies.bucket),
        partNumbers: checkPartNumbers(body['partNumbers']),
      }
    },
    own: async (attempt, { scope }) =>
      (await pendingMultipartOf(records, attempt, scope)) ?? Promise.reject(notFound()),
    async act({ partNumbers }, row, call) {
      const expiresAt = urlExpiry(row, policy.urlSeconds, now())
      const size = row.declaredSize ?? 0
      checkPartsExist(partCountOf(size), partNumbers)
      const at = { ...bytesOf(row, call.request), uploadId: row.uploadId }
      const signed = await Promise.all(
        partNumbers.map(async (partNumber) => {
          const { url } = await multipart.signPart({
            ...at,
            partNumber,
            size: sizeOfPart(size, partNumber),
            expiresAt,
            writableUntil: row.expiresAt,
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
    const given = Array.isArray(value) ? `an array of ${value.length}` : shown(value)
    throw invalid('partNumbers', `must be an array of 1 to ${MAX_URLS} part numbers (got ${given}).`)
  }
  return value.map((number: unknown) => checkInteger('partNumbers', number, 1, MAX_PARTS))
}

/** @throws StorageError `VALIDATION_ERROR` */
function checkPartsExist(partCount: number, partNumbers: readonly number[]): void {
  const beyond = partNumbers.find((partNumber) => partNumber > partCount)
  if (beyond === undefined) return
  throw invalid('partNumbers', `must be part numbers from 1 to ${partCount} (got ${beyond}).`)
}
