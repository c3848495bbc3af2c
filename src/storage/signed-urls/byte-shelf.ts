import type { StoredBytes } from '../../core/object-storage.js'

/** What an upload URL writes. */
export interface NewBytes {
  /**
   * Exactly the signed number of bytes, read as fast as they are taken. It fails where the client sends others; then
   * nothing is kept.
   */
  readonly chunks: AsyncIterable<Uint8Array>
  readonly contentType: string
  readonly attemptId: string
}

/** The bytes of one object, to be sent. */
export interface OpenBytes {
  /** Bytes. */
  readonly size: number
  /** A stream holds what feeds it until it is read to its end or cancelled. */
  readonly body: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
}

/** Where a storage that serves its own URLs keeps the bytes. A call rejects where it can't tell or can't do it. */
export interface ByteShelf {
  /** `null`: nothing is there. */
  describe(bucket: string, key: string): Promise<StoredBytes | null>
  /** `null`: nothing is there. */
  open(bucket: string, key: string): Promise<OpenBytes | null>
  /**
   * Keeps all of it or nothing, and only where nothing is, whoever else writes there at that moment. Resolves to the
   * ETag, or to `null` where something was.
   */
  create(bucket: string, key: string, content: NewBytes): Promise<string | null>
  /** Resolves as well where nothing was. */
  remove(bucket: string, key: string): Promise<void>
}
