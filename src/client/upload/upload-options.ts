export interface UploadProgress {
  /** Bytes that have been sent. */
  readonly loaded: number
  /** Bytes of the file. */
  readonly total: number
}

export interface UploadOptions {
  /** Name of an upload route of the server; may be left out where it has only one. */
  readonly route?: string | null | undefined
  /** Display name, 1..1024 characters. Default: the file's own name. */
  readonly filename?: string | null | undefined
  /** At most 64 entries; names and values together at most 16 KiB of UTF-8. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  /**
   * Called while bytes are sent, always with more than before, and at last with `loaded` equal to `total`. Without
   * `XMLHttpRequest` only after each part of 8 MiB or more of a file that is sent in parts, and that last time. An upload
   * that is resumed begins with what the bucket has. What it throws ends the upload.
   */
  readonly onProgress?: ((progress: UploadProgress) => void) | null | undefined
  readonly signal?: AbortSignal | null | undefined
}
