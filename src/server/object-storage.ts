import type { SubtreeExchange } from '../core/http/handler.js'

/** What a storage that serves URLs of its own needs of the library, so that errors and their bodies stay made in one place. */
export { StorageError } from '../core/errors.js'
export { errorResponse } from '../core/http/reply.js'

/** Where bytes lie: a key in a bucket, which is the record's `storageKey`. */
export interface BytesReference {
  readonly bucket: string
  readonly key: string
  /** Aborts the call; the storage may have acted all the same. */
  readonly signal?: AbortSignal
}

/** What one upload URL is bound to. */
export interface SignUploadInput extends BytesReference {
  /** Bytes, exactly. */
  readonly size: number
  readonly contentType: string
  readonly attemptId: string
  readonly expiresAt: Date
  /** Absolute URL below which a storage may serve URLs of its own in this server, without a slash at its end. */
  readonly serverURL: string
}

export interface SignedUpload {
  readonly method: 'PUT'
  /** Absolute. */
  readonly url: string
  /** To be sent along as they are; only such as a browser may set. */
  readonly headers: Readonly<Record<string, string>>
}

export interface SignDownloadInput extends BytesReference {
  /** The name under which a browser saves it. */
  readonly filename: string
  readonly contentType: string | null
  readonly expiresAt: Date
  /** As in {@link SignUploadInput}. */
  readonly serverURL: string
}

export interface SignedDownload {
  /** Absolute. */
  readonly url: string
}

/** What lies at a key, as the storage itself knows it. */
export interface StoredBytes {
  /** Bytes. */
  readonly size: number
  readonly contentType: string | null
  /** 1..255 characters. */
  readonly eTag: string | null
  /** The attempt that wrote it; `null` for bytes that came some other way. */
  readonly attemptId: string | null
}

/**
 * A bucket service. Uploads and downloads go straight between it and the browser, by signed URLs.
 *
 * A call rejects where the storage can't be reached or refuses, a bucket that doesn't exist included; it never answers
 * "nothing there" for that. What isn't a `StorageError` reaches the client as `STORAGE_UNAVAILABLE`.
 */
export interface ObjectStorage {
  /** A URL that writes one object once: of just this size, type and attempt, and only where nothing lies yet. */
  signUpload(input: SignUploadInput): Promise<SignedUpload>
  signDownload(input: SignDownloadInput): Promise<SignedDownload>
  /** What lies there, or `null`. */
  head(reference: BytesReference): Promise<StoredBytes | null>
  /** Resolves as well where nothing lay there. */
  remove(reference: BytesReference): Promise<void>
  /** Serves the storage's own signed URLs, for storages that are no server of their own. */
  serve?(exchange: SubtreeExchange): Promise<Response>
}
