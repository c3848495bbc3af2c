import type { SubtreeExchange } from './http/handler.js'

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

/** One multipart upload of a storage, under the key where its bytes will lie. */
export interface MultipartReference extends BytesReference {
  readonly uploadId: string
}

export interface CreateMultipartInput extends BytesReference {
  /** What `head` says of the object, once it is complete. */
  readonly contentType: string
  readonly attemptId: string
}

export interface SignPartInput extends MultipartReference {
  /** 1..10000. */
  readonly partNumber: number
  /** Bytes, exactly. */
  readonly size: number
  readonly expiresAt: Date
  /** As in {@link SignUploadInput}. */
  readonly serverURL: string
}

/** A part is sent with PUT and no headers beyond those that a browser makes. */
export interface SignedPart {
  /** Absolute. */
  readonly url: string
}

export interface ListPartsInput extends MultipartReference {
  /** The part number after which the page begins; 0 for the first. */
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

/**
 * Uploads in parts (S3's limits: 10,000 parts, each but the last of 5 MiB or more, none above 5 GiB). An upload that was
 * completed or aborted, or never was, is "no such upload": an answer, never a rejection.
 */
export interface MultipartStorage {
  /**
   * Begins an upload; `uploadId` has 1..1024 characters. Where it had to try twice and can't tell whether that began two, it
   * rejects, and both are aborted soon; one that it says nothing of lies there until `cleanUp` forgets the ended attempt.
   */
  create(input: CreateMultipartInput): Promise<{ readonly uploadId: string }>
  /** A URL that writes this one part, of just this size; it may be written again until the upload ends. */
  signPart(input: SignPartInput): Promise<SignedPart>
  /** The parts that lie there, or `null` for no such upload. */
  listParts(input: ListPartsInput): Promise<PartsPage | null>
  /**
   * Makes the object of just these parts, as one step; whether it did. `false`: no such upload, or the parts are no longer
   * these. After an answer that was lost, `head` tells.
   */
  complete(input: CompleteMultipartInput): Promise<boolean>
  /** Drops the upload and its parts; resolves as well where there is none. */
  abort(reference: MultipartReference): Promise<void>
  /** The ids of uploads under this very key that were begun and neither completed nor aborted. */
  list(reference: BytesReference): Promise<readonly string[]>
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
  /** Uploads in parts; a storage without it leaves the server's multipart verbs off. */
  readonly multipart?: MultipartStorage
  /** Serves the storage's own signed URLs, for storages that are no server of their own. */
  serve?(exchange: SubtreeExchange): Promise<Response>
}
