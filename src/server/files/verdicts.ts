import { checkMediaType } from '../../core/http/media-type.js'
import type { StoredBytes } from '../../core/object-storage.js'
import { refuseUnknownNames } from '../../core/store/inputs/fields.js'
import type { StorageObject } from '../../core/store/records.js'
import { checkAttemptId, optional } from '../../core/store/validation/checks.js'
import { attemptNotFound, mismatch } from '../attempts/errors.js'
import { rejectArrived } from '../attempts/verdicts.js'
import type { ServerDependencies } from '../dependencies.js'
import { removeBytes } from '../objects.js'
import { bytesOf } from '../storage.js'
import { ACCEPT_INPUT, REJECT_INPUT, type AcceptFileInput, type RejectFileInput } from './inputs.js'

const ACCEPT = { operation: 'files.accept' }

/** Makes an arrived attempt active, if its bytes are still those that arrived. */
export async function acceptFile(
  dependencies: ServerDependencies,
  input: AcceptFileInput,
): Promise<StorageObject> {
  refuseUnknownNames(ACCEPT_INPUT, input)
  const { storage, records } = dependencies
  const { objects } = records
  const attemptId = checkAttemptId('attemptId', input.attemptId)
  const contentType = optional(input.contentType, (value) => checkMediaType(value))
  const at = { bucket: input.bucket ?? dependencies.bucket, key: input.key, scope: input.scope }
  const pending = await objects.findPending({ ...at, id: attemptId })
  const arrived = pending?.arrivedAt ? pending : null
  // A repeated call finds the object that the first one has made.
  const row = arrived ?? (pending === null ? await objects.findActive(at) : null)
  if (row === null || row.attemptId !== attemptId) throw attemptNotFound()
  if (arrived && !isUnchanged(arrived, await storage.head(bytesOf(arrived)))) {
    await endChanged(dependencies, arrived)
  }
  const { bucket, key, scope, eTag } = row
  const size = row.size ?? 0
  return records.confirm({ bucket, key, scope, id: attemptId, size, eTag, contentType, accept: true })
}

function isUnchanged(arrived: StorageObject, stored: StoredBytes | null): boolean {
  if (stored?.size !== arrived.size) return false
  return stored.eTag === null || arrived.eTag === null || stored.eTag === arrived.eTag
}

/** Ends an arrived attempt whose bytes have changed. If it has ended already, the confirm that follows tells. */
async function endChanged(
  dependencies: ServerDependencies,
  { bucket, key, id, scope }: StorageObject,
): Promise<void> {
  const ended = await dependencies.records.objects.release({ bucket, key, id, scope })
  if (!ended) return
  await removeBytes(dependencies, ended, ACCEPT)
  throw mismatch('The bytes have changed since they arrived, so the upload has ended.')
}

/** Ends an arrived attempt that has failed its check. */
export async function rejectFile(
  dependencies: ServerDependencies,
  input: RejectFileInput,
): Promise<StorageObject> {
  refuseUnknownNames(REJECT_INPUT, input)
  const { key, scope, reason } = input
  const id = checkAttemptId('attemptId', input.attemptId)
  const bucket = input.bucket ?? dependencies.bucket
  return rejectArrived(dependencies, { bucket, key, id, scope, reason }, { operation: 'files.reject' })
}
