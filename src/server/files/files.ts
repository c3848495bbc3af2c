import { toStorageError } from '../../core/errors.js'
import type { StorageObject } from '../../core/store/records.js'
import { refuseUnknownNames } from '../../core/store/inputs/fields.js'
import { removeObject } from '../objects.js'
import type { RouteTable } from '../upload-routes/options.js'
import type { ServerDependencies } from '../dependencies.js'
import { CallerError } from './caller.js'
import { downloadURL, getFile } from './get.js'
import {
  DELETE_INPUT,
  type AcceptFileInput,
  type DeleteFileInput,
  type DownloadURLInput,
  type FileURL,
  type GetFileInput,
  type OpenFile,
  type PutFileInput,
  type RejectFileInput,
} from './inputs.js'
import { putFile } from './put.js'
import { acceptFile, rejectFile } from './verdicts.js'

/**
 * Reads and writes files without a browser, for jobs, imports, tests and pages that a server renders.
 *
 * The caller is trusted: guards and `resolveScope` are not called. Hooks are, without a `request`, and `onError` gets every 5xx
 * error. All methods reject with `VALIDATION_ERROR`, also for an unknown field that is no field of a record, `DATABASE_UNAVAILABLE` and `STORAGE_UNAVAILABLE`, and with a `TypeError`
 * if the storage lacks a method that they need.
 */
export interface ServerFiles {
  /**
   * Stores a file and returns its active row, or with `checkSeconds` the pending one. Works like an upload: the route's `key`, `bucket`,
   * `overwrite`, `maxFileSize` and `contentTypes` apply, and so does the quota. Needs less memory than three parts, each of 8 MiB for
   * files of up to 78 GiB.
   *
   * If the body has another size (`UPLOAD_MISMATCH`), if it fails, or if the call is aborted, nothing is stored, and the body is
   * cancelled. The call rejects with the error of the body or the reason of the abort. If the process dies, or if the storage or
   * the database is away at the end, `cleanUp` later records the object if all its bytes arrived.
   *
   * Also rejects with `KEY_CONFLICT`, `QUOTA_EXCEEDED`, `FILE_TOO_LARGE` and `CONTENT_TYPE_NOT_ALLOWED`, and with
   * `OBJECT_NOT_FOUND` if another call has ended the upload: a delete, or a newer upload to the same key.
   *
   * @example
   * const object = await s3.files.put({ scope, filename: 'report.pdf', body: new Blob(['…']), contentType: 'application/pdf' })
   */
  put(input: PutFileInput): Promise<StorageObject>
  /**
   * Returns an active object and a stream of its bytes, or with `arrived` an upload that waits for its check. Rejects with
   * `OBJECT_NOT_FOUND` if there is none. If the storage returns more or fewer bytes than were asked for, the stream fails with
   * `STORAGE_UNAVAILABLE`.
   *
   * @example
   * const { object, body } = await s3.files.get({ key, scope })
   */
  get(input: GetFileInput): Promise<OpenFile>
  /**
   * Returns a signed URL of an active object, or with `arrived` of an upload that waits for its check. Rejects with `OBJECT_NOT_FOUND` if
   * there is none. If the URL lives longer than `download.expiresIn`, a replacement of the object may end it early.
   *
   * @throws TypeError if the storage serves its own URLs and has no `baseURL`.
   *
   * @example
   * const { url, expiresAt } = await s3.files.downloadURL({ key, scope, expiresIn: 60 })
   */
  downloadURL(input: DownloadURLInput): Promise<FileURL>
  /**
   * Makes an upload active whose bytes have passed their check, in place of the object that it replaces, and returns the active row.
   * A repeated call returns the same row. Looks at the bytes again: if they have changed or are gone, the upload ends, and the call
   * rejects with `UPLOAD_MISMATCH`. Rejects with `OBJECT_NOT_FOUND` if the upload has not arrived, or has ended.
   *
   * @example
   * await s3.files.accept({ key: object.key, attemptId: object.attemptId })
   */
  accept(input: AcceptFileInput): Promise<StorageObject>
  /**
   * Ends an upload whose bytes have failed their check, removes the bytes, and returns the pending row as it was. The object that it
   * would have replaced stays. For an hour, the owner's client gets `UPLOAD_REJECTED` with the reason. Rejects with `OBJECT_NOT_FOUND`
   * if the upload has not arrived, or has ended, also by an earlier verdict.
   *
   * @example
   * await s3.files.reject({ key: object.key, attemptId: object.attemptId, reason: 'Contains a virus.' })
   */
  reject(input: RejectFileInput): Promise<StorageObject>
  /**
   * Removes the object or pending upload at a key, and its bytes. Returns the removed row, or `null`.
   *
   * @example
   * const removed = await s3.files.delete({ key, scope })
   */
  delete(input: DeleteFileInput): Promise<StorageObject | null>
}

export function createFiles(dependencies: ServerDependencies, routes: RouteTable): ServerFiles {
  /** Reports 5xx errors. Wraps anything that is neither an error of the caller nor a `StorageError`. */
  async function run<T>(operation: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (thrown) {
      if (thrown instanceof CallerError) throw thrown.reason
      const error = toStorageError(thrown)
      if (error.status >= 500) dependencies.report(error, { operation })
      throw error
    }
  }

  return {
    put: (input) => run('files.put', () => putFile(dependencies, routes, input)),
    get: (input) => run('files.get', () => getFile(dependencies, input)),
    downloadURL: (input) => run('files.downloadURL', () => downloadURL(dependencies, input)),
    accept: (input) => run('files.accept', () => acceptFile(dependencies, input)),
    reject: (input) => run('files.reject', () => rejectFile(dependencies, input)),
    delete: (input) => run('files.delete', () => deleteFile(dependencies, input)),
  }
}

async function deleteFile(
  dependencies: ServerDependencies,
  input: DeleteFileInput,
): Promise<StorageObject | null> {
  refuseUnknownNames(DELETE_INPUT, input)
  const { key, scope, attemptId } = input
  const bucket = input.bucket ?? dependencies.bucket
  const mode = input.mode ?? dependencies.records.deleteMode
  return removeObject(dependencies, { bucket, key, scope, attemptId, mode }, { operation: 'files.delete' })
}
