import type { Account } from '../account.js'
import type { ApiRequest, Fetch } from '../api-request.js'
import type { CallOptions } from '../call-options.js'
import { mediaTypeOf, typeByExtension } from './media-type.js'

export interface UploadProgress {
  /** Bytes sent so far. */
  readonly loaded: number
  /** Size of the file in bytes. */
  readonly total: number
}

/** `waiting`: in line behind six others, or for the network while the browser is offline. `confirming`: the server verifies what was sent. */
export type UploadState = 'waiting' | 'sending' | 'confirming'

/**
 * `signal` ends the upload at the server, or pauses it with the reason `PAUSED`. After `timeoutSeconds`, an upload in parts can be resumed, and any other is ended.
 */
export interface UploadOptions extends CallOptions {
  /** Name of an upload route of the server. Optional if the server has only one. */
  readonly route?: string | null | undefined
  /** Display name, 1 to 1024 characters. Default: the file's own name. */
  readonly filename?: string | null | undefined
  /**
   * Media type, such as `text/csv`. Parameters that aren't valid are quoted or dropped. Default: the file's own type, or the usual
   * one for its extension, otherwise `application/octet-stream`.
   */
  readonly contentType?: string | null | undefined
  /** At most 64 entries. Names and values may have at most 16 KiB of UTF-8 in total. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  /**
   * Called while bytes are sent. `loaded` increases with each call and equals `total` in the last one. A resumed upload
   * counts what has arrived once it has compared it with the file. Without `XMLHttpRequest`, or with a `fetch` of your own, it is called only
   * after each part (8 MiB or more) and at the end. If it throws, the upload is aborted and rejects with that error.
   */
  readonly onProgress?: ((progress: UploadProgress) => void) | null | undefined
  /** Called when the upload changes its state. If it throws, the upload is aborted and rejects with that error. */
  readonly onState?: ((state: UploadState) => void) | null | undefined
}

/** The parts of the client that an upload uses. */
export interface UploadContext {
  /** Absolute or relative URL of the API. */
  readonly base: string
  readonly request: ApiRequest
  /** Limits each wait for progress. */
  readonly stallSeconds: number
  /** The application's, if it gave one. */
  readonly fetch?: Fetch | null | undefined
  readonly account?: Account
}

/** Body of the call that starts an upload. */
export interface UploadRequest extends Pick<UploadOptions, 'route'> {
  /** Anything else than an object is refused by the server. */
  readonly metadata: UploadOptions['metadata'] | string
  readonly filename: string
  /** A media type of RFC 9110, in ASCII. */
  readonly contentType: string
  /** Bytes. */
  readonly size: number
}

/**
 * Returns what makes two uploads the same, or `false` for a file that can't be recognized, because it has no name. Not by `instanceof`,
 * because the file may come from another frame.
 */
export function identityOf(file: Blob, uploadRequest: UploadRequest): string | false {
  return 'lastModified' in file && JSON.stringify(uploadRequest)
}

const MAX_FILENAME_LENGTH = 1024

/**
 * Builds the request from a file and the caller's options.
 *
 * @throws TypeError if the file has no size, or if its getters throw, as those of a `Proxy` around a file do.
 */
export function createUploadRequest(
  file: Blob,
  { route, filename, metadata, contentType: chosenType }: UploadOptions,
): UploadRequest {
  // JSON would make an empty object of a Map, and the server would store it.
  const kind = Object.prototype.toString.call(metadata)
  let cause: unknown
  try {
    const name = filename == null ? validName(file) : filename
    const { type, size } = file
    const contentType =
      mediaTypeOf(chosenType || type) || chosenType || typeByExtension(name) || 'application/octet-stream'
    if (size >= 0) {
      const given = metadata == null || kind === '[object Object]' ? metadata : kind
      return { route, filename: name, contentType, size, metadata: given }
    }
  } catch (error) {
    cause = error
  }
  throw new TypeError(`file must be a Blob, not a proxy (got ${Object.prototype.toString.call(file)}).`, {
    cause,
  })
}

/** Returns the file's own name, changed to be valid. A name that the caller passes is sent unchanged. */
function validName(file: Blob): string {
  // Not `instanceof`, because the file may come from another frame.
  const { name = '' } = file as Partial<File>
  // With the `u` flag, this matches only surrogates outside a pair.
  const sendable = name.replace(/[\0\p{Surrogate}]/gu, '\ufffd')
  return [...sendable].slice(0, MAX_FILENAME_LENGTH).join('') || 'file'
}
