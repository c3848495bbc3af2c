import type { DbClientObject, ObjectStorage } from '@svc/db'
import type { MultipartStorage } from '@svc/db/adapter'
import { bytesOfSize, expectStatus, follow, type Caller } from '../service.js'
import { DEFAULT_PART_SIZE } from '../../../../src/server/attempts/sizes.js'

/** The requests of a multipart upload, as a browser sends them. */

export const MIB = 1024 ** 2
/** The size of every part except the last, for files of up to 10,000 such parts. */
export const PART = DEFAULT_PART_SIZE

export interface Parts {
  readonly object: DbClientObject
  readonly uploadId: string
  readonly partSize: number
}

export interface SignedPartResponse {
  readonly partNumber: number
  readonly url: string
  readonly expiresAt: string
}

export interface ListedParts {
  readonly partSize: number
  readonly parts: readonly { readonly partNumber: number; readonly size: number }[]
  readonly next?: number
}

/** Returns the fields that identify the attempt in every request except the first. */
export function referenceOf({ object, uploadId }: Parts) {
  return { key: object.key, bucket: object.bucket, id: object.id, uploadId }
}

export const begin = (caller: Caller, input: Record<string, unknown> = {}): Promise<Response> =>
  caller.send('POST', '/multipart', { filename: 'a.txt', contentType: 'text/plain', size: 3, ...input })

export async function begun(caller: Caller, input: Record<string, unknown> = {}): Promise<Parts> {
  return (await expectStatus(await begin(caller, input), 201)) as Parts
}

export const sign = (caller: Caller, parts: Parts, partNumbers: unknown = [1]): Promise<Response> =>
  caller.send('POST', '/multipart/parts', { ...referenceOf(parts), partNumbers })

export async function signed(caller: Caller, parts: Parts, partNumbers = [1]): Promise<SignedPartResponse[]> {
  const body = await expectStatus(await sign(caller, parts, partNumbers), 200)
  return (body as { parts: SignedPartResponse[] }).parts
}

export const list = (caller: Caller, parts: Parts, after?: unknown): Promise<Response> =>
  caller.send('POST', '/multipart/list', { ...referenceOf(parts), after })

export async function listed(caller: Caller, parts: Parts, after?: number): Promise<ListedParts> {
  return (await expectStatus(await list(caller, parts, after), 200)) as ListedParts
}

export const complete = (caller: Caller, parts: Parts): Promise<Response> =>
  caller.send('POST', '/multipart/complete', referenceOf(parts))

export const abort = (caller: Caller, parts: Parts): Promise<Response> =>
  caller.send('POST', '/multipart/abort', referenceOf(parts))

export const putPart = (caller: Caller, url: string, body: BodyInit | null): Promise<Response> =>
  follow(caller, url, { method: 'PUT', body })

/** Sends the parts in `only`, by default all. Each is filled with its part number, or with `fill`. */
export async function sendParts(
  caller: Caller,
  parts: Parts,
  options: { readonly only?: readonly number[]; readonly fill?: number } = {},
): Promise<void> {
  const size = parts.object.declaredSize ?? 0
  // An empty upload has no part to send.
  if (size === 0) return
  const count = Math.ceil(size / parts.partSize)
  const numbers = options.only ?? Array.from({ length: count }, (_, index) => index + 1)
  for (const { partNumber, url } of await signed(caller, parts, [...numbers])) {
    const length = Math.min(parts.partSize, size - (partNumber - 1) * parts.partSize)
    const bytes = bytesOfSize(length, options.fill ?? partNumber)
    await expectStatus(await putPart(caller, url, bytes), 200)
  }
}

/** Starts, sends, and completes a multipart upload. Returns the object. */
export async function uploaded(
  caller: Caller,
  input: Record<string, unknown> = {},
  fill?: number,
): Promise<DbClientObject> {
  const parts = await begun(caller, input)
  await sendParts(caller, parts, fill === undefined ? {} : { fill })
  return ((await expectStatus(await complete(caller, parts), 200)) as { object: DbClientObject }).object
}

/** Replaces methods of the storage's multipart half. */
export const withMultipart =
  (change: (multipart: MultipartStorage) => Partial<MultipartStorage>) =>
  (memory: ObjectStorage): ObjectStorage => ({
    ...memory,
    multipart: { ...memory.multipart!, ...change(memory.multipart!) },
  })

/** Removes the storage's multipart support. */
export function withoutMultipart(memory: ObjectStorage): ObjectStorage {
  const { multipart: _, ...rest } = memory
  return rest
}
