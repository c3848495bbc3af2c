import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import type { UploadIds } from './resume-state.js'
import type { UploadRequest } from './upload-request.js'

export type Signal = AbortSignal | null | undefined

/** The parts of an upload that the bucket has. */
export interface StoredParts {
  /** Size of every part but the last, in bytes. */
  readonly partSize: number
  /** Size of each stored part by part number. */
  readonly sizes: ReadonlyMap<number, number>
}

export interface StartedInParts extends UploadIds {
  readonly partSize: number
}

interface ListResponse {
  readonly partSize: number
  readonly parts: readonly { readonly partNumber: number; readonly size: number }[]
  readonly next?: number
}

interface SignResponse {
  readonly parts: readonly { readonly partNumber: number; readonly url: string }[]
}

export async function startInParts(
  request: ApiRequest,
  uploadRequest: UploadRequest,
  signal: Signal,
): Promise<StartedInParts> {
  const { object, uploadId, partSize } = await request<{
    readonly object: DbClientObject
    readonly uploadId: string
    readonly partSize: number
  }>('POST', '/multipart', { body: uploadRequest, answer: 'partSize', signal })
  const { bucket, key, id } = object
  return { bucket, key, id, uploadId, partSize }
}

/** Returns the API calls for a started upload. */
export function multipartCalls(request: ApiRequest, ids: UploadIds) {
  return {
    async sign(partNumbers: readonly number[], signal: Signal): Promise<ReadonlyMap<number, string>> {
      const { parts } = await request<SignResponse>('POST', '/multipart/parts', {
        body: { ...ids, partNumbers },
        answer: 'parts',
        signal,
      })
      return new Map(parts.map(({ partNumber, url }) => [partNumber, url]))
    },

    async list(signal: Signal): Promise<StoredParts> {
      const sizes = new Map<number, number>()
      for (let after = 0; ;) {
        const { partSize, parts, next } = await request<ListResponse>('POST', '/multipart/list', {
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
