import { StorageError } from '../../core/errors.js'
import {
  PROBE_PREFIX,
  type Finding,
  type ObjectStorage,
  type VerifyInput,
} from '../../core/object-storage.js'
import { printable } from '../../core/printable.js'

export type CheckedCalls = Required<Pick<ObjectStorage, 'signUpload' | 'write' | 'read' | 'remove'>>

const BODY = new TextEncoder().encode('Written by verify of @svc/db.')

/**
 * Signs, writes, reads and removes a small object. All runs share its name, so a later one removes what a killed one has left, and
 * it may be there already, or gone again.
 */
export async function verifyLocal(
  { signUpload, write, read, remove }: CheckedCalls,
  { bucket, signal }: VerifyInput,
): Promise<readonly Finding[]> {
  signal?.throwIfAborted()
  const at = { bucket, key: `${PROBE_PREFIX}verify` }
  const terms = { ...at, contentType: 'text/plain', attemptId: 'verify', size: BODY.byteLength }
  try {
    await signUpload({ ...terms, expiresAt: new Date(), serverURL: '' })
    try {
      await write({ ...terms, body: BODY }).catch(ignoreConflict)
      await (await read(at))?.cancel()
    } finally {
      await remove(at)
    }
  } catch (error) {
    const { message } = error as Error
    const text = `Files can't be stored: check that the directory exists and is writable, and that its disk has space and hard links (${message}).`
    return [{ part: 'bucket', message: printable(text) }]
  }
  signal?.throwIfAborted()
  return []
}

/** Another run writes at this moment. */
function ignoreConflict(error: unknown): void {
  if (!(error instanceof StorageError && error.code === 'KEY_CONFLICT')) throw error
}
