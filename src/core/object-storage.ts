import type { SubtreeExchange } from './http/handler.js'

/** Identifies bytes in a bucket. `key` is the record's `storageKey`. */
export interface BytesReference {
  readonly bucket: string
  readonly key: string
  /** Aborts the call. The storage may have acted already. */
  readonly signal?: AbortSignal
}

/** The terms that an upload URL is bound to. */
export interface SignUploadInput extends BytesReference {
  /** Exact size in bytes. */
  readonly size: number
  readonly contentType: string
  readonly attemptId: string
  readonly expiresAt: Date
  /**
   * When the reservation ends, at or after `expiresAt`. An hour later `cleanUp` stops looking for bytes of this attempt. A
   * storage that can must refuse bytes that are complete after that. Always present in calls of the server.
   */
  readonly writableUntil?: Date | null | undefined
  /** Absolute URL, without a trailing slash, below which a storage may serve its own URLs in this server. */
  readonly serverURL: string
}

export interface SignedUpload extends SignedDownload {
  readonly method: 'PUT'
  /** Headers that the request must carry unchanged. Browsers can set all of them. */
  readonly headers: Readonly<Record<string, string>>
}

export interface SignDownloadInput extends BytesReference {
  /** File name that browsers save the download under. */
  readonly filename: string
  readonly contentType: string | null
  /** Whether browsers show the bytes in place or save them as a file. Default: `attachment`. */
  readonly disposition?: Disposition | null | undefined
  /**
   * `Cache-Control` of the bytes. Default: `private, no-store`. Its `max-age` is safe for a URL whose lifetime started up to a third
   * earlier. A storage that serves its own URLs may replace it with the seconds until the URL expires.
   */
  readonly cacheControl?: string | null | undefined
  /**
   * When the lifetime of the URL starts, at or before now. Equal inputs with a `signedAt` return the same URL, so browsers can
   * cache its bytes. Default: now. A storage that ignores it and `cacheControl` works, but browsers then load the bytes again
   * each time.
   */
  readonly signedAt?: Date | null | undefined
  readonly expiresAt: Date
  /** As in {@link SignUploadInput}. `s3.files.downloadURL` passes the `baseURL` of the storage, or an empty string. */
  readonly serverURL: string
}

/** How a browser treats the bytes of a download: `inline` shows them, `attachment` saves them as a file. */
export type Disposition = 'inline' | 'attachment'

export interface SignedDownload {
  /** Absolute URL. */
  readonly url: string
  /** When the URL ends, if that is before the `expiresAt` of the input: the credentials that signed it may end earlier. */
  readonly expiresAt?: Date | null | undefined
}

export interface RemoveBytesInput extends BytesReference {
  /**
   * When the last upload URL of the key expires. Until then, a storage that can must keep the key from being written again:
   * someone may have a download URL of it. An empty object in place of the bytes does, and is removed by a later call.
   */
  readonly writableUntil?: Date | null | undefined
  /** The ETag of the bytes, if it is known. On S3, it tells whether they were uploaded in parts, whose URLs can't write the key. */
  readonly eTag?: string | null | undefined
}

/** An object that the server writes itself, on the terms of an upload URL. */
export interface WriteInput
  extends BytesReference, Pick<SignUploadInput, 'contentType' | 'attemptId' | 'writableUntil'> {
  /** All bytes of the object, at most 5 GiB. The caller may change the array once the call has succeeded. */
  readonly body: Uint8Array
}

/** The first and the last byte of a range, counted from 0. */
export interface ByteRange {
  readonly start: number
  /** At or after `start`. */
  readonly end: number
}

export interface ReadInput extends BytesReference {
  /** Returns only these bytes, all of which are stored. Default: all bytes. */
  readonly range?: ByteRange | null | undefined
}

/** Stored bytes, as the storage reports them. */
export interface StoredBytes {
  /** Bytes. */
  readonly size: number
  readonly contentType: string | null
  /** A `Content-Encoding` that readers of the bytes have to undo. Such bytes never match an upload request. */
  readonly contentEncoding?: string | null | undefined
  /** 1..255 characters. */
  readonly eTag: string | null
  /** The attempt that wrote the bytes; `null` if they were written neither through a signed URL nor by the server. */
  readonly attemptId: string | null
}

export interface ListBytesInput {
  readonly bucket: string
  /** Only keys that start with this text, 1..1024 bytes of UTF-8. Default: all keys. */
  readonly prefix?: string | null | undefined
  /** Only keys after this one. It need not exist. Default: from the start. */
  readonly after?: string | null | undefined
  /** 1..1000. */
  readonly limit: number
  /** Aborts the call. */
  readonly signal?: AbortSignal
}

/** Bytes in a listing of a bucket. */
export interface ListedBytes {
  readonly key: string
  /** Bytes. */
  readonly size: number
  /** As `head` returns it. */
  readonly eTag: string | null
  /** When the bytes were written. For disk storage, the time of the file. */
  readonly lastModified: Date
  /** Such as `STANDARD` or `GLACIER`, if the storage tells it. */
  readonly storageClass?: string | undefined
}

export interface BytesPage {
  /** In byte order of the UTF-8 keys. */
  readonly items: readonly ListedBytes[]
  /** The last key of the page, `after` of the next one; `null` if nothing follows. */
  readonly next: string | null
}

/** Identifies a multipart upload, by the key of its future bytes. */
export interface MultipartReference extends BytesReference {
  readonly uploadId: string
}

export interface CreateMultipartInput extends BytesReference {
  /** What `head` returns once the upload is complete. */
  readonly contentType: string
  readonly attemptId: string
}

export interface SignPartInput
  extends MultipartReference, Pick<SignUploadInput, 'size' | 'expiresAt' | 'writableUntil' | 'serverURL'> {
  /** 1..10000. */
  readonly partNumber: number
}

/** The URL of one part. Upload with PUT, without extra headers. */
export interface SignedPart extends SignedDownload {}

/** A part that the server writes itself. */
export interface WritePartInput
  extends MultipartReference, Pick<SignPartInput, 'partNumber' | 'writableUntil'> {
  /** The caller may change the array once the call has succeeded. */
  readonly body: Uint8Array
}

export interface ListPartsInput extends MultipartReference {
  /** Only parts with a higher number; 0 for the first page. */
  readonly after: number
}

export interface StoredPart {
  readonly partNumber: number
  /** Bytes. */
  readonly size: number
  readonly eTag: string
}

export interface PartsPage {
  /** By part number. */
  readonly parts: readonly StoredPart[]
  /** `after` of the next page, or `null`. */
  readonly next: number | null
}

export interface CompleteMultipartInput extends MultipartReference {
  readonly parts: readonly Omit<StoredPart, 'size'>[]
}

/** For operators whose bucket responds to an upload with 501. */
export const CREATE_ONLY_ADVICE =
  'If the service does not support conditional writes, set createOnly of s3Storage to false: see docs/s3.md.'

/** What `verify` writes is below this prefix. Jobs that list a bucket pass it over. */
export const PROBE_PREFIX = '.svc-db/'

/** The part of a service that a finding is about. */
export type FindingPart = 'database' | 'bucket' | 'permissions' | 'conditional-writes' | 'clock' | 'cors'

/** A fault that `verify` has found. */
export interface Finding {
  readonly part: FindingPart
  /** One sentence for an operator, which says what to do. Texts of the service are quoted with control characters escaped. */
  readonly message: string
}

export interface VerifyInput {
  readonly bucket: string
  /** Aborts the call. What it has written is removed first. */
  readonly signal?: AbortSignal
  /** An origin of the pages that upload, such as `https://app.example`. Default: whether any page may upload is checked. */
  readonly origin?: string | null | undefined
  /** Whether browsers upload files. Default `true`. */
  readonly browserUploads?: boolean | null | undefined
}

/** The highest part number in S3, and thus the maximum number of parts. */
export const MAX_PARTS = 10_000

/**
 * Multipart uploads. S3 limits them to 10,000 parts; all but the last must have at least 5 MiB, and none more than 5 GiB.
 *
 * An unknown, completed or aborted upload is an ordinary result, never a rejection.
 */
export interface MultipartStorage {
  /** The most parts of an upload, 1..10000. Default: 10,000. Larger files have larger parts. */
  readonly maxParts?: number | null | undefined
  /**
   * Starts an upload. `uploadId` has 1..1024 characters.
   *
   * Rejects if the request was retried and may have started two uploads; the storage then aborts both. An upload that was
   * started without a response remains until `cleanUp` finds it through {@link list}.
   */
  create(input: CreateMultipartInput): Promise<{ readonly uploadId: string }>
  /** Returns a URL that writes this part, with exactly this size. It may be used repeatedly until the upload ends. */
  signPart(input: SignPartInput): Promise<SignedPart>
  /**
   * Writes a part, replacing an earlier one with this number. Returns its ETag, as `listParts` does, or `null` if there is no such
   * upload. Without it, `s3.files.put` accepts only bodies that fit in one part.
   */
  writePart?(input: WritePartInput): Promise<string | null>
  /** Returns the uploaded parts, or `null` if there is no such upload. */
  listParts(input: ListPartsInput): Promise<PartsPage | null>
  /**
   * Creates the object from exactly these parts, atomically. Returns `false` if there is no such upload or its parts
   * have changed. After a lost response, `head` shows whether it took effect.
   */
  complete(input: CompleteMultipartInput): Promise<boolean>
  /** Deletes the upload and its parts. Also resolves if there is none. */
  abort(reference: MultipartReference): Promise<void>
  /** Returns the ids of unfinished uploads under exactly this key. */
  list(reference: BytesReference): Promise<readonly string[]>
}

/**
 * The contract between the library and a bucket service. Browsers upload to and download from the service directly, through
 * signed URLs.
 *
 * A call rejects if the service is unavailable or refuses the request, and for a missing bucket. It never reports
 * "nothing there" in these cases. Clients see any rejection other than a `StorageError` as `STORAGE_UNAVAILABLE`.
 */
export interface ObjectStorage {
  /**
   * `false` if upload URLs and `write` replace what is stored under the key, so that a URL can write again until it expires. Default:
   * `true`.
   */
  readonly createOnly?: boolean | null | undefined
  /** Returns a URL that writes one object, once, with exactly this size, type and attempt, and only if the key is empty. */
  signUpload(input: SignUploadInput): Promise<SignedUpload>
  /** Returns a URL that downloads the bytes under the given name. */
  signDownload(input: SignDownloadInput): Promise<SignedDownload>
  /** Returns what is stored under the key, or `null`. */
  head(reference: BytesReference): Promise<StoredBytes | null>
  /** Deletes the bytes. Also resolves if there are none. */
  remove(input: RemoveBytesInput): Promise<void>
  /**
   * Writes an object, on the terms of an upload URL. Returns `false` if something is stored under the key already, perhaps by an
   * earlier try of this call: `head` shows what. Without it, there is no `s3.files.put`.
   *
   * Rejects with an error whose `isRefusal` is `true` if certainly nothing was stored. `files.put` then releases its reservation.
   */
  write?(input: WriteInput): Promise<boolean>
  /**
   * Returns the bytes, or `null` if nothing is stored under the key. The stream holds its source open until it is read to the
   * end or cancelled, and reads at the speed of its reader. `signal` has no effect on it. Without this method, there is no
   * `s3.files.get`.
   */
  read?(input: ReadInput): Promise<ReadableStream<Uint8Array> | null>
  /**
   * Lists what is stored in a bucket, without unfinished uploads. A page costs the same at any depth on S3. Without it, there are
   * no `importObjects` and `checkStorage`.
   */
  list?(input: ListBytesInput): Promise<BytesPage>
  /**
   * Returns what keeps uploads, downloads and jobs from working with a bucket. What can't be reached is a finding, not a rejection.
   * Writes only below `.svc-db/`, which jobs pass over, and leaves nothing there. Without it, `s3.verify` checks the database alone.
   */
  verify?(input: VerifyInput): Promise<readonly Finding[]>
  /** Multipart uploads. Without it, the server has no `/multipart` endpoints. */
  readonly multipart?: MultipartStorage
  /** Serves the storage's signed URLs, for storages without a separate server. */
  serve?(exchange: SubtreeExchange): Promise<Response>
  /** Absolute URL of what `serve` serves, if it doesn't depend on the request. `s3.files.downloadURL` needs it if there is a `serve`. */
  readonly baseURL?: string | null | undefined
}
