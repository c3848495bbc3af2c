import type { StorageObject } from '../../core/store/records.js'
import { checkAttemptId, checkObject, checkText, optional } from '../../core/store/validation/checks.js'
import { notFound } from '../request-input/attempt-reference.js'
import type { ServerDependencies } from '../server-dependencies.js'
import type { GetFileInput } from './inputs.js'

/** Returns the active object that a call names. @throws StorageError `VALIDATION_ERROR`, `OBJECT_NOT_FOUND` */
export async function findFile(
  { records, bucket: defaultBucket }: ServerDependencies,
  input: Pick<GetFileInput, 'key' | 'bucket' | 'scope' | 'attemptId'>,
): Promise<StorageObject> {
  checkObject('input', input)
  const bucket = checkText('bucket', input.bucket ?? defaultBucket)
  const key = checkText('key', input.key)
  const scope = optional(input.scope, (value) => checkText('scope', value))
  const attemptId = optional(input.attemptId, (value) => checkAttemptId('attemptId', value))
  const object = await records.objects.findActive({ bucket, key, scope })
  if (!object || (scope !== null && object.scope !== scope)) throw notFound()
  if (attemptId !== null && object.attemptId !== attemptId) throw notFound()
  return object
}
