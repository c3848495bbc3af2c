import { StorageError } from '../../core/errors.js'
import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { toClientObject, type StorageObject } from '../../core/records.js'
import { confirmAttempt } from '../confirm-attempt.js'
import { notFound, pendingUploadOf, readAttempt, type AttemptReference } from '../object-input.js'
import { bytesOf, isAsAnnounced, removeOwnBytes } from '../own-bytes.js'
import type { ServerParts } from '../server-parts.js'

const OPERATION = 'upload.confirm'

/** `POST /upload/confirm` makes an object of an upload, if the bucket has what was announced. May be repeated. */
export function confirmEndpoint(parts: ServerParts): Endpoint {
  return guardedEndpoint<AttemptReference, StorageObject>({
    method: 'POST',
    path: '/upload/confirm',
    operation: OPERATION,
    parse: async (source) => readAttempt(await source.json(), parts.bucket),
    own: async (attempt, { scope }) =>
      (await pendingUploadOf(parts.records, attempt, scope)) ??
      (await objectOf(parts, attempt, scope)) ??
      Promise.reject(notFound()),
    async act(_, row, { request }) {
      const object = row.status === 'active' ? row : await confirmVerified(parts, row, request)
      return { status: 200, body: { object: toClientObject(object) } }
    },
  })
}

/** The object that this very attempt became. */
async function objectOf(
  { records }: ServerParts,
  { bucket, key, id }: AttemptReference,
  scope: string,
): Promise<StorageObject | null> {
  const active = await records.objects.findActive({ bucket, key })
  return active?.scope === scope && active.attemptId === id ? active : null
}

async function confirmVerified(
  parts: ServerParts,
  row: StorageObject,
  request: Request,
): Promise<StorageObject> {
  const { storage, records } = parts
  const stored = await storage.head(bytesOf(row, request.signal))
  if (stored === null) throw mismatch('Nothing has been uploaded yet.')
  if (isAsAnnounced(row, stored)) return confirmAttempt(records, row, stored, request)

  // First the row: once the attempt has ended nobody can confirm it, so its bytes are nobody's.
  const { bucket, key, id, scope } = row
  const ended = await records.objects.release({ bucket, key, id, scope })
  if (ended) await removeOwnBytes(parts, ended, { request, operation: OPERATION })
  throw mismatch('What was uploaded is not what was announced; the upload has to begin anew.')
}

function mismatch(message: string): StorageError {
  return new StorageError('UPLOAD_MISMATCH', { message })
}
