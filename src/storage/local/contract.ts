import type {
  ByteRange,
  CreateMultipartInput,
  ListedBytes,
  MultipartReference,
  StoredBytes,
  StoredPart,
} from '../../core/object-storage.js'

/* A storage that keeps its bytes itself provides these. All methods reject if the backend fails. */

export interface LocalBackend {
  readonly objects: ByteStore
  readonly parts: PartStore
  readonly claimWrite: ClaimWrite
  /** Returns the HMAC-SHA-256 key that signs the URLs. Called on first use, and again only after it has failed. */
  readonly secret: () => Promise<Secret>
}

/** `CryptoKey` is a global type only in browsers. */
export type Secret = Parameters<typeof crypto.subtle.sign>[1]

export interface IncomingBytes {
  /** The bytes, read on demand. Throws unless the client sends the signed number of bytes; then nothing must be stored. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Rejects if the bytes must not appear any more. Called once all bytes are stored, immediately before they become visible. */
  readonly beforePublishing?: (() => Promise<void>) | undefined
}

/** The properties of an object, or of the object that an upload becomes. */
export type Description = Pick<CreateMultipartInput, 'contentType' | 'attemptId'>

export interface NewBytes extends IncomingBytes, Description {}

/** An object that was found, before its bytes are read. It never changes, but it can be removed. */
export interface FoundObject {
  /** Bytes. */
  readonly size: number
  readonly eTag: string
  readonly lastModified: Date
}

/** Which bytes of an object to read, or `null` for none. What lies beyond the object is ignored. */
export interface Selection {
  readonly range: ByteRange | null
}

export const ALL_BYTES: ByteRange = Object.freeze({ start: 0, end: Infinity })

/** Bytes, ready to be sent. A stream holds its source open until it is read to the end or cancelled. */
export type OpenBytes = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>

export interface ByteStore {
  /** Returns `null` if there is no such object. */
  describe(bucket: string, key: string): Promise<StoredBytes | null>
  /**
   * Opens an object. `select`, which must not throw, gets its description and selects the bytes. Returns the selection with the
   * bytes, or `null` if there is no such object.
   */
  open<Selected extends Selection>(
    bucket: string,
    key: string,
    select: (object: FoundObject) => Selected,
  ): Promise<(Selected & { readonly body: OpenBytes | null }) | null>
  /** Creates an object atomically and never overwrites one, even concurrently. Returns the ETag, or `null` if the object exists. */
  create(bucket: string, key: string, content: NewBytes): Promise<string | null>
  /** Removes an object. Resolves also if there is none. */
  remove(bucket: string, key: string): Promise<void>
  /**
   * Remembers that a removed object can't be created again until a time, in milliseconds since 1970. Then the store forgets its
   * name. MUST cost the same however many names it remembers, as `closedUntil` and `create` must.
   */
  close(bucket: string, key: string, until: number): Promise<void>
  /** Returns until when an object can't be created, in milliseconds since 1970. 0: it can. */
  closedUntil(bucket: string, key: string): Promise<number>
  /** Yields all objects of a bucket, in any order. May leave out objects that are created or removed meanwhile. */
  objects(bucket: string): AsyncIterable<ListedBytes>
}

/** Identifies a multipart upload, whose id is a UUID. */
export type UploadReference = Omit<MultipartReference, 'signal'>

/** The parts of a backend, each in an upload. An upload exists until it is removed. */
export interface PartStore {
  begin(upload: UploadReference, description: Description): Promise<void>
  /** Returns the description of an upload, or `null` if there is none that accepts parts. */
  describe(upload: UploadReference): Promise<Description | null>
  /**
   * Stores a part atomically, replacing any part with this number. If `content` throws, the previous part stays. Returns the
   * ETag, or `null` if the upload was removed in the meantime, which the store need not notice.
   */
  write(upload: UploadReference, partNumber: number, content: NewBytes): Promise<string | null>
  /** Returns all parts, in any order, or `null` if there is no such upload. */
  list(upload: UploadReference): Promise<readonly StoredPart[] | null>
  /**
   * Yields the bytes of a part. If it is replaced meanwhile, it yields the old ones.
   * @throws PartChangedError if there is no part with this number and this ETag.
   */
  read(upload: UploadReference, part: Omit<StoredPart, 'size'>): AsyncIterable<Uint8Array>
  /** Removes an upload and its parts. Resolves also if there is none. */
  remove(upload: UploadReference): Promise<void>
  uploads(bucket: string, key: string): Promise<readonly string[]>
}

/** A part is missing or has changed, or its upload has ended. */
export class PartChangedError extends Error {}

/** Claims a write for this process. Returns `null` if another process holds a claim and makes progress. */
export type ClaimWrite = (target: string) => Promise<WriteClaim | null>

/** The claim of a write among all processes that share the backend. */
export interface WriteClaim {
  /** Shows that the write makes progress. Returns `false` if another process has taken over. */
  keep(): Promise<boolean>
  /** Ends the claim. Never rejects. */
  release(): Promise<void>
}

/** How often a store removes what is over, in milliseconds. To look for it in each write would slow all of them. */
export const SWEEP_EVERY_MS = 60 * 60 * 1000

/**
 * How long a request may wait for the next bytes of its client before another request may take over, in milliseconds.
 * Clients retry for about eight seconds after a lost connection, which the server may not have noticed.
 */
export const STALLED_AFTER_MS = 5000
