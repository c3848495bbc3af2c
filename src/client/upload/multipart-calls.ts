import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import type { Announcement } from './announcement.js'
import type { UploadIds } from './kept-upload.js'

export type Signal = AbortSignal | null | undefined

/** How a file is cut, and what the bucket has of it: the size of each part by its number. */
export interface PartsThere {
  readonly partSize: number
  readonly sizes: ReadonlyMap<number, number>
}

export interface BegunInParts extends UploadIds {
  readonly partSize: number
}

interface ListAnswer {
  readonly partSize: number
  readonly parts: readonly { readonly partNumber: number; readonly size: number }[]
  readonly next?: number
}

interface SignAnswer {
  readonly parts: readonly { readonly partNumber: number; readonly url: string }[]
}

export async function beginInParts(
  request: ApiRequest,
  announcement: Announcement,
  signal: Signal,
): Promise<BegunInParts> {
  const { object, uploadId, partSize } = await request<{
    readonly object: DbClientObject
    readonly uploadId: string
    readonly partSize: number
  }>('POST', '/multipart', { body: announcement, answer: 'partSize', signal })
  const { bucket, key, id } = object
  return { bucket, key, id, uploadId, partSize }
}

/** The calls of one upload that was begun. */
export function multipartCalls(request: ApiRequest, ids: UploadIds) {
  return {
    async sign(partNumbers: readonly number[], signal: Signal): Promise<ReadonlyMap<number, string>> {
      const { parts } = await request<SignAnswer>('POST', '/multipart/parts', {
        body: { ...ids, partNumbers },
        answer: 'parts',
        signal,
      })
      return new Map(parts.map(({ partNumber, url }) => [partNumber, url]))
    },

    async list(signal: Signal): Promise<PartsThere> {
      const sizes = new Map<number, number>()
      for (let after = 0; ;) {
        const { partSize, parts, next } = await request<ListAnswer>('POST', '/multipart/list', {
          body: { ...ids, after },
          answer: 'partSize',
          signal,
        })
        for (const { partNumber, size } of parts) sizes.set(partNumber, size)
        if (!next) return { partSize, sizes }
        after = next
      }
    },

    async complete(signal: Signal): Promise<DbClientObject> {
      const { object } = await request<{ readonly object: DbClientObject }>('POST', '/multipart/complete', {
        body: ids,
        answer: 'object',
        signal,
      })
      return object
    },

    abort: (signal: Signal): Promise<void> =>
      request('POST', '/multipart/abort', { body: ids, signal, keepalive: true }),
  }
}

export type MultipartCalls = ReturnType<typeof multipartCalls>
