import type { DbClientObject } from '../../core/store/records.js'
import type { S3ClientError } from '../client-error.js'
import type { UploadOptions } from '../upload/upload-request.js'

/** `waiting`: for the network, or behind other uploads of the client. `confirming`: the server verifies what was sent. */
export type QueuedUploadState =
  'queued' | 'uploading' | 'waiting' | 'confirming' | 'paused' | 'done' | 'failed'

/** A file of a queue. It never changes: the next snapshot has another one in its place. */
export interface QueuedUpload {
  readonly id: string
  readonly filename: string
  /** Bytes. */
  readonly size: number
  /** Bytes sent so far. An upload in one PUT that was paused begins again at 0. */
  readonly loaded: number
  readonly state: QueuedUploadState
  /** Why it `failed`. `ABORTED`: it was cancelled, or another account has signed in. */
  readonly error?: S3ClientError
  /** The object, once it is `done`. */
  readonly object?: DbClientObject
}

/** The files of a queue. It never changes: after a change, `getSnapshot` returns another one. */
export interface UploadQueueSnapshot {
  /** In the order in which they were added. */
  readonly items: readonly QueuedUpload[]
  /** Bytes of all files but those that failed. */
  readonly size: number
  /** Bytes sent of these files. */
  readonly loaded: number
  /** Whole seconds until they have been sent, without those that are paused. 0: nothing is left. `null`: unknown. */
  readonly secondsLeft: number | null
}

export interface UploadQueueOptions extends UploadOptions {
  /** How many files are uploaded at once, 1 to 6. Default: 3. */
  readonly concurrency?: number | null | undefined
}

/** A queue of uploads. Without an `id`, a call means all files that it applies to. Unknown ids are ignored. */
export interface UploadQueue {
  /**
   * Adds a file, or several such as a `FileList`, with options that override the queue's. Returns their ids.
   *
   * @throws TypeError if one of them is no `Blob`. Then none is added.
   *
   * @example
   * input.onchange = () => queue.add(input.files ?? [], { route: 'photos' })
   */
  readonly add: (files: Blob | Iterable<Blob>, options?: UploadOptions) => string[]
  /**
   * Pauses files that wait or are being sent. Without an `id`, also holds back files that are added later, until `resume()`. While the
   * server verifies a file, a pause comes too late, unless parts of it have to be sent again.
   *
   * @example
   * queue.pause()
   */
  readonly pause: (id?: string) => void
  /**
   * Continues paused files, after those that are `queued` already.
   *
   * @example
   * queue.resume()
   */
  readonly resume: (id?: string) => void
  /**
   * Uploads files that failed once more. One that broke a rule is sent to the server, which decides.
   *
   * @example
   * for (const { id, state } of queue.getSnapshot().items) if (state === 'failed') queue.retry(id)
   */
  readonly retry: (id?: string) => void
  /**
   * Ends uploads. They are `failed` with code `ABORTED` then, unless the server has stored the file by then.
   *
   * @example
   * queue.cancel(id)
   */
  readonly cancel: (id?: string) => void
  /**
   * Takes a file off the list and cancels its upload. While the server verifies a file, it may be stored all the same.
   *
   * @example
   * queue.remove(id)
   */
  readonly remove: (id: string) => void
  /**
   * Calls the listener after changes, at most once in 16 ms. Returns a function that ends this.
   *
   * @example
   * const end = queue.subscribe(() => console.log(queue.getSnapshot().loaded))
   */
  readonly subscribe: (listener: () => void) => () => void
  /**
   * Returns the files. The result is the same object until something changes.
   *
   * @example
   * const { items, loaded, size, secondsLeft } = queue.getSnapshot()
   */
  readonly getSnapshot: () => UploadQueueSnapshot
}
