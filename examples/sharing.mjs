// Who may read a file or a note besides its owner: the scopes in the `readers` of its metadata, separated by spaces.
// `everybody` includes callers who are not signed in.
import { createObjectAccessGuard, StorageError } from '@svc/db'

export function isReader({ metadata }, scope) {
  const readers = metadata?.readers?.split(' ') ?? []
  return readers.includes('everybody') || readers.includes(scope)
}

/** Returns a function that stores who may read a file. Only the owner of the file may call it. */
export function createShare({ client, resolveScope, bucket }) {
  const ownFile = createObjectAccessGuard({ client, resolveScope })

  return async (request, { key, readers } = {}) => {
    if (typeof readers !== 'string') {
      throw new StorageError('VALIDATION_ERROR', {
        message: 'readers must be a string of scopes, separated by spaces.',
        params: { field: 'readers' },
      })
    }
    const { scope, attemptId } = await ownFile({ request, bucket, key })
    // Keeps the other names of the metadata. With `attemptId`, it never shares a newer version by accident.
    const shared = await client.update({ bucket, key, scope, attemptId, setMetadata: { readers } })
    if (!shared) throw new StorageError('OBJECT_NOT_FOUND')
  }
}
