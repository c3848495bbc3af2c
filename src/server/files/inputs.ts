import { namesOf } from '../../core/known-names.js'
import type { ByteRange, Disposition } from '../../core/object-storage.js'
import { inputNames } from '../../core/store/inputs/fields.js'
import type { ObjectMetadata, Quota, StorageObject } from '../../core/store/records.js'
import type { SizedBody, StreamedBody } from './byte-source.js'

/** How many bytes of a body are in the storage. */
export interface PutProgress {
  /** Bytes. */
  readonly loaded: number
  /** Bytes. */
  readonly total: number
}

interface NewFile {
  /** The owner, 1 to 255 characters. */
  readonly scope: string
  /** Display name, 1 to 1024 characters. Required if the route has a `key` function and the call no `key`. */
  readonly filename?: string | null | undefined
  /** The upload route, also one with `http: false`. Default: the only one. Its `metadata` option and its guard do not apply. */
  readonly route?: string | null | undefined
  /** A media type. Default: the type of the Blob, or `application/octet-stream`. */
  readonly contentType?: string | null | undefined
  /** 1 to 1024 bytes of UTF-8. Default: the key that the route chooses. Pass one in a job that retries. */
  readonly key?: string | null | undefined
  readonly metadata?: ObjectMetadata | null | undefined
  /**
   * Default: the quota of `db()`. If that is a function, it is called without a request. `false` sets no limit, for files that your
   * application makes itself, such as thumbnails. Their bytes count all the same.
   */
  readonly quota?: Quota | false | null | undefined
  /**
   * Makes the object temporary: it is gone this many seconds after the call, 1 to 31,536,000, unless it is kept before. Has no effect
   * on a replacement of an object that stays. Default: that of the route.
   */
  readonly temporarySeconds?: number | null | undefined
  /**
   * Has the bytes checked before the object is active, within 60 to 2592000 seconds: the call returns the pending row, with
   * `arrivedAt`, and `s3.files.accept` or `s3.files.reject` decides. Default: they are not checked, whatever the route says.
   */
  readonly checkSeconds?: number | null | undefined
  /** Called after each part. The call waits for it. */
  readonly onProgress?: ((progress: PutProgress) => unknown) | null | undefined
  /** Ends the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined
}

/** A file with its owner. A body that is a stream needs its size in bytes. */
export type PutFileInput =
  | (NewFile & {
      readonly body: SizedBody
      /** Bytes. Checked if it is set. */
      readonly size?: number | null | undefined
    })
  | (NewFile & {
      readonly body: StreamedBody
      /** Bytes, exactly. */
      readonly size: number
    })

interface FileTarget {
  readonly key: string
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
  /** Only an object of this owner. Default: of any owner. */
  readonly scope?: string | null | undefined
  /** Only this version of the object, the `attemptId` of its row. */
  readonly attemptId?: string | null | undefined
}

/** What names an upload whose bytes wait for their check. */
interface ArrivedTarget {
  /** `true`: the bytes of the upload `attemptId`, which wait for their check. Default: those of the active object. */
  readonly arrived?: boolean | null | undefined
}

export interface GetFileInput extends FileTarget, ArrivedTarget {
  /**
   * Which bytes to return, the first and the last one, counted from 0. `end` may be left out and may be beyond the end of the
   * object. Default: all bytes.
   */
  readonly range?:
    (Pick<ByteRange, 'start'> & { readonly end?: number | null | undefined }) | null | undefined
  /** Ends the call, and the body while it is being read, with the signal's reason. */
  readonly signal?: AbortSignal | null | undefined
}

export interface OpenFile {
  readonly object: StorageObject
  /** Holds a connection or a file open until it is read to the end or cancelled. */
  readonly body: ReadableStream<Uint8Array>
}

export interface DownloadURLInput extends FileTarget, ArrivedTarget {
  /**
   * Lifetime in whole seconds, 1 to 604800 (7 days), cut at the end of a temporary object. Default: `download.expiresIn`, or 900. With
   * `arrived`, 900 at most.
   */
  readonly expiresIn?: number | null | undefined
  /** File name that browsers save the bytes under. Default: that of the object, or its key. */
  readonly filename?: string | null | undefined
  /**
   * `inline` shows images (no SVG), audio, video, PDF and plain text in the browser. Every other type is an `attachment`, which
   * is the default, and the only one with `arrived`.
   */
  readonly disposition?: Disposition | null | undefined
}

export interface FileURL {
  /** Absolute URL. */
  readonly url: string
  readonly expiresAt: Date
  readonly object: StorageObject
}

export interface DeleteFileInput extends FileTarget {
  /** `soft` keeps the row as history, `hard` deletes it. Default: the `deleteMode` of `db()`. */
  readonly mode?: 'soft' | 'hard' | null | undefined
}

interface Verdict {
  readonly key: string
  /** The upload that has arrived. */
  readonly attemptId: string
  /** Default: the server's bucket. */
  readonly bucket?: string | null | undefined
  /** Only an upload of this owner. Default: of any owner. */
  readonly scope?: string | null | undefined
}

export interface AcceptFileInput extends Verdict {
  /** A media type in place of that of the upload. Default: that of the upload. */
  readonly contentType?: string | null | undefined
}

export interface RejectFileInput extends Verdict {
  /** Why, 1 to 500 characters. The owner's client gets it. Default: none. */
  readonly reason?: string | null | undefined
}

const TARGET = { key: true, bucket: true, scope: true, attemptId: true } as const satisfies Record<
  keyof FileTarget,
  true
>
export const PUT_INPUT = inputNames(
  namesOf<PutFileInput>({
    ...{ scope: true, filename: true, route: true, contentType: true, key: true, metadata: true },
    ...{ quota: true, temporarySeconds: true, checkSeconds: true },
    ...{ onProgress: true, signal: true, body: true, size: true },
  }),
)
export const GET_INPUT = inputNames(
  namesOf<GetFileInput>({ ...TARGET, range: true, signal: true, arrived: true }),
)
export const RANGE_NAMES = namesOf<ByteRange>({ start: true, end: true })
export const URL_INPUT = inputNames(
  namesOf<DownloadURLInput>({
    ...TARGET,
    ...{ expiresIn: true, filename: true, disposition: true, arrived: true },
  }),
)
export const ACCEPT_INPUT = inputNames(namesOf<AcceptFileInput>({ ...TARGET, contentType: true }))
export const REJECT_INPUT = inputNames(namesOf<RejectFileInput>({ ...TARGET, reason: true }))
export const DELETE_INPUT = inputNames(namesOf<DeleteFileInput>({ ...TARGET, mode: true }))
