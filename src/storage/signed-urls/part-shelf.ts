import type { StoredPart } from '../../core/object-storage.js'

/** One upload in parts, and the place where its object will lie. */
export interface UploadPlace {
  readonly bucket: string
  readonly key: string
  /** Whatever a client sent. */
  readonly uploadId: string
}

/** What the object of an upload will be known by. */
export interface UploadDescription {
  readonly contentType: string
  readonly attemptId: string
}

/**
 * Where a storage that serves its own URLs keeps uploads in parts. An upload is there from its beginning until it is
 * completed or aborted, and never at a place where an object lies: it could not become one any more. A call rejects where
 * it can't tell or can't do it.
 */
export interface PartShelf {
  /** Resolves to the new upload's id. */
  begin(bucket: string, key: string, description: UploadDescription): Promise<string>
  /** Whether the upload is there and can take parts. */
  isOpen(place: UploadPlace): Promise<boolean>
  /**
   * Keeps all of a part or nothing, in the place of one that had its number. It fails where `chunks` do; then what was
   * there stays. Resolves to the ETag, or to `null` where the upload isn't there, or ended meanwhile.
   */
  write(place: UploadPlace, partNumber: number, chunks: AsyncIterable<Uint8Array>): Promise<string | null>
  /** All parts by number, or `null` for no such upload. */
  list(place: UploadPlace): Promise<readonly StoredPart[] | null>
  /**
   * Makes the object of just these parts, in this order, and ends the upload. All of it or nothing, and only where nothing
   * lies. `false`: no such upload, other parts, or something lay there.
   */
  complete(place: UploadPlace, parts: readonly Omit<StoredPart, 'size'>[]): Promise<boolean>
  /** Drops the upload with its parts. Resolves as well where there is none. */
  abort(place: UploadPlace): Promise<void>
  /** The ids of the uploads at a place. */
  uploads(bucket: string, key: string): Promise<readonly string[]>
}
