import type { StoredPart } from '../../core/object-storage.js'
import type { IncomingBytes } from './contract.js'

/** Identifies a multipart upload. */
export interface UploadReference {
  readonly bucket: string
  readonly key: string
  /** As the client sent it: any string. */
  readonly uploadId: string
}

/** The properties of the object that an upload becomes. */
export interface UploadDescription {
  readonly contentType: string
  readonly attemptId: string
}

/**
 * The multipart uploads of a storage that serves its own URLs. An upload exists until it is completed or aborted. Uploads
 * to a key that has an object count as ended, because they can't be completed. Methods reject if the store fails.
 */
export interface PartStore {
  /** Starts an upload and returns its id. */
  begin(bucket: string, key: string, description: UploadDescription): Promise<string>
  /** Returns whether the upload exists and accepts parts. */
  isOpen(upload: UploadReference): Promise<boolean>
  /**
   * Stores a part atomically, replacing any part with this number. If `chunks` or
   * `beforePublishing` throws, the previous part stays. Returns the ETag, or `null` if the upload does not exist or has ended in the meantime.
   */
  write(upload: UploadReference, partNumber: number, bytes: IncomingBytes): Promise<string | null>
  /** Returns all parts by number, or `null` if there is no such upload. */
  list(upload: UploadReference): Promise<readonly StoredPart[] | null>
  /**
   * Creates the object from these parts, in this order, and ends the upload. Atomic, and never overwrites an object. Returns
   * `false` if there is no such upload, if a part is missing or has changed, or if the object already exists.
   */
  complete(upload: UploadReference, parts: readonly Omit<StoredPart, 'size'>[]): Promise<boolean>
  /** Removes the upload and its parts. Resolves also if there is none. */
  abort(upload: UploadReference): Promise<void>
  /** Returns the ids of the open uploads to a key. */
  uploads(bucket: string, key: string): Promise<readonly string[]>
}
