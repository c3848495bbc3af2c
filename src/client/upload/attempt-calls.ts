import type { DbClientObject } from '../../core/store/records.js'
import type { ApiRequest } from '../api-request.js'
import type { CallOptions } from '../call-options.js'
import type { SignedPut } from './transport.js'

/** Identifies an attempt in later calls. `uploadId`: in parts. */
export interface AttemptIds {
  readonly object: Pick<DbClientObject, 'bucket' | 'key' | 'id'>
  readonly uploadId?: string | undefined
}

export interface StartedInOnePut {
  readonly object: DbClientObject
  readonly upload: SignedPut & { readonly expiresAt: string }
}

export interface StartedInParts {
  readonly object: DbClientObject
  readonly uploadId: string
  readonly partSize: number
}

/** The parts of an upload that the bucket has. */
export interface StoredParts {
  /** Size of every part but the last, in bytes. */
  readonly partSize: number
  /** Size of each stored part by part number. */
  readonly sizes: ReadonlyMap<number, number>
}

export interface SignedPart {
  readonly partNumber: number
  readonly url: string
  readonly expiresAt: string
}

interface ListResponse {
  readonly partSize: number
  readonly parts: readonly { readonly partNumber: number; readonly size: number }[]
  readonly next?: number
}

/** Returns the API calls for a started attempt. `sign` and `list` are for uploads in parts. */
export function attemptCalls(request: ApiRequest, { object: { bucket, key, id }, uploadId }: AttemptIds) {
  const ids = { bucket, key, id, uploadId }
  return {
    async sign(partNumbers: readonly number[], signal: AbortSignal): Promise<readonly SignedPart[]> {
      const { parts } = await request<{ readonly parts: readonly SignedPart[] }>('POST', '/multipart/parts', {
        body: { ...ids, partNumbers },
        answer: 'parts',
        signal,
      })
      return parts
    },

    async list(signal: AbortSignal): Promise<StoredParts> {
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

    /** Has the server verify and record what was sent. May be repeated. */
    finish: async ({ signal, timeoutSeconds }: CallOptions): Promise<DbClientObject> => {
      const { object } = await request<{ readonly object: DbClientObject }>(
        'POST',
        uploadId ? '/multipart/complete' : '/upload/confirm',
        { body: ids, answer: 'object', signal, timeoutSeconds },
      )
      return object
    },

    abort: (limit: CallOptions): Promise<void> =>
      request('POST', uploadId ? '/multipart/abort' : '/upload/abort', {
        ...limit,
        body: ids,
        keepalive: true,
      }),
  }
}

export type AttemptCalls = ReturnType<typeof attemptCalls>
