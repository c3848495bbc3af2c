// Notes and files of a small team, with owners, readers and quotas. Independent of a framework: examples/express,
// examples/koa and examples/fastify use it in their servers.
import {
  chainHooks,
  createObjectAccessGuard,
  createQuotaGuard,
  createS3Server,
  db,
  memoryStorage,
  StorageError,
} from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createChecksums } from './checksums.mjs'
import { createShare, isReader } from './sharing.mjs'

const notes = 'notes'
const files = 'files'
const quota = { maxBytes: 1000, maxFiles: 20 }

/** Creates the notes. `resolveScope(request)` returns the caller's scope, from the session of the server in use. */
export function createTeamNotes(resolveScope) {
  const client = memoryAdapter({ events: true })
  const plugin = db({
    client,
    resolveScope,
    quota,
    bucket: notes,
    // Called for callers other than the owner. Readers may use `GET /file`, `GET /download` and `GET /db/object`.
    mayRead: (object, { scope }) => isReader(object, scope),
  })
  const checksums = createChecksums(() => s3.files)
  // Files are uploaded straight to the storage through the library's routes. They share the quota with the notes.
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: files,
    plugins: [plugin],
    onEvent: checksums.onEvent,
    onError: (error, { operation }) => console.error(`${operation}:`, error),
  })

  const canRead = createObjectAccessGuard({
    client,
    resolveScope,
    authorize(object, { scope }) {
      if (object.scope === scope || isReader(object, scope)) return true
      // Returning `false` would mean 403, which reveals that the object exists.
      throw new StorageError('OBJECT_NOT_FOUND')
    },
  })
  const checkQuota = createQuotaGuard({ client, resolveScope, ...quota })
  const canCopy = chainHooks(canRead, checkQuota)
  // By attempt: each write is a new attempt, and the row of a note names the one that was confirmed last.
  const texts = new Map()

  async function write(request, { key, text, readers }) {
    // The body parser ignores other content types.
    if (typeof text !== 'string') {
      throw new StorageError('VALIDATION_ERROR', {
        message: 'The body of a note must be text/plain.',
        params: { field: 'body' },
      })
    }
    const declaredSize = Buffer.byteLength(text)
    const metadata = readers ? { readers } : undefined
    // Enforces the quota under concurrency, because it reserves the space. The guard above only checks it.
    const { id } = await plugin.reserve(request, { key, declaredSize, metadata })
    texts.set(id, text)
    return plugin.confirm(request, { key, id, size: declaredSize })
  }

  return {
    s3,
    share: createShare({ client, resolveScope, bucket: files }),
    async checksum(request, key) {
      return checksums.of(await canRead({ request, bucket: files, key }))
    },
    checkQuota: (request, key, size) => checkQuota({ request, bucket: notes, key, size }),
    write,
    async read(request, key) {
      const note = await canRead({ request, bucket: notes, key })
      return texts.get(note.attemptId)
    },
    async copy(request, key, newKey) {
      const original = await client.findActive({ bucket: notes, key })
      await canCopy({ request, bucket: notes, key, size: original?.size })
      return write(request, { key: newKey, text: texts.get(original.attemptId) })
    },
  }
}

/** Returns the status and body to send for an error; `null` for internal errors, which clients must not see. */
export function errorResponse(error) {
  if (!(error instanceof StorageError) || error.status >= 500) return null
  const { status, code, message, params } = error
  return { status, body: { code, message, params } }
}
