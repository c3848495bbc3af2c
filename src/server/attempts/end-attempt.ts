import type { ErrorContext } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'
import { abortMultipartUpload, removeBytes } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'

/**
 * Ends an attempt of this server that will not become an object: first the row, then its parts and bytes. Never rejects: what
 * fails is reported, and `cleanUp` does it later. Changes nothing if the attempt has ended or has become an object.
 */
export async function endAttempt(
  dependencies: ServerDependencies,
  { bucket, key, id, scope }: StorageObject,
  context: ErrorContext,
): Promise<void> {
  try {
    const ended = await dependencies.records.objects.release({ bucket, key, id, scope })
    if (!ended) return
    const { uploadId } = ended
    if (uploadId !== null) await abortMultipartUpload(dependencies, { ...ended, uploadId }, context)
    await removeBytes(dependencies, ended, context)
  } catch (error) {
    dependencies.report(error, context)
  }
}
