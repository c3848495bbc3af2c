import type { ByteRange, ListedBytes, StoredBytes } from '../../core/object-storage.js'

/** The bytes of a new object or part. */
export interface IncomingBytes {
  /**
   * The bytes, read on demand. Throws unless the client sends exactly the signed number of bytes; then nothing must be
   * stored.
   */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Throws if the bytes come too late. Called once all bytes are stored, immediately before they become visible. */
  readonly beforePublishing?: (() => void) | undefined
}

/** The content of a new object. */
export interface NewBytes extends IncomingBytes {
  readonly contentType: string
  readonly attemptId: string
}

/** An open object, ready to be sent. */
export interface OpenBytes {
  /** Bytes of the body. */
  readonly size: number
  /** A stream holds its source open until it is read to the end or cancelled. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
}

/** The objects of a storage that serves its own URLs. Methods reject if the store fails. */
export interface ByteStore {
  /** Returns `null` if there is no such object. */
  describe(bucket: string, key: string): Promise<StoredBytes | null>
  /** Opens an object, or a range of its bytes. Returns `null` if there is no such object. */
  open(bucket: string, key: string, range?: ByteRange): Promise<OpenBytes | null>
  /**
   * Creates an object atomically and never overwrites one. Of concurrent calls for a key, one succeeds. Returns the ETag, or
   * `null` if the object already exists.
   */
  create(bucket: string, key: string, content: NewBytes): Promise<string | null>
  /** Removes an object. Resolves also if there is none. */
  remove(bucket: string, key: string): Promise<void>
  /** Yields all objects of a bucket, in any order. May leave out objects that are created or removed meanwhile. */
  objects(bucket: string): AsyncIterable<ListedBytes>
}
