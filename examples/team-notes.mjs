// The notes and files of a small team: what belongs to whom, who may read it, and how much room there is. Nothing here
// knows of a framework; examples/express and examples/koa put it into their servers.
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

const notes = 'notes'
const quota = { maxBytes: 1000, maxFiles: 20 }

/** `resolveScope(request)` tells who asks, by the session of whatever server this is in. */
export function createTeamNotes(resolveScope) {
  const client = memoryAdapter()
  const plugin = db({ client, resolveScope, quota, bucket: notes })
  // Files go straight to the storage, by the library's own routes; they and the notes share the quota.
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [plugin],
    onError: (error, { operation }) => console.error(`${operation}:`, error),
  })

  const mayRead = createObjectAccessGuard({
    client,
    resolveScope,
    authorize(object, { scope }) {
      const readers = object.metadata?.readers?.split(' ') ?? []
      if (object.scope === scope || readers.includes('everybody') || readers.includes(scope)) return true
      // Answering `false` would be 403, and tell that there is such a note.
      throw new StorageError('OBJECT_NOT_FOUND')
    },
  })
  const hasRoom = createQuotaGuard({ client, resolveScope, ...quota })
  const mayCopy = chainHooks(mayRead, hasRoom)
  const texts = new Map()

  async function write(request, { key, text, readers }) {
    // A body parser leaves other types alone.
    if (typeof text !== 'string') {
      throw new StorageError('VALIDATION_ERROR', {
        message: 'A note is text/plain.',
        params: { field: 'body' },
      })
    }
    const declaredSize = Buffer.byteLength(text)
    const metadata = readers ? { readers } : undefined
    // Exact, also where many write at once: the guard above only looks, this reserves.
    const { id } = await plugin.reserve(request, { key, declaredSize, metadata })
    texts.set(id, text)
    return plugin.confirm(request, { key, id, size: declaredSize })
  }

  return {
    s3,
    hasRoom: (request, key, size) => hasRoom({ request, bucket: notes, key, size }),
    write,
    async read(request, key) {
      const note = await mayRead({ request, bucket: notes, key })
      return texts.get(note.id)
    },
    async copy(request, key, newKey) {
      const original = await client.findActive({ bucket: notes, key })
      await mayCopy({ request, bucket: notes, key, size: original?.size })
      return write(request, { key: newKey, text: texts.get(original.id) })
    },
  }
}

/** What a client is told of an error; `null` where it is not for clients. */
export function answerOf(error) {
  if (!(error instanceof StorageError) || error.status >= 500) return null
  const { status, code, message, params } = error
  return { status, body: { code, message, params } }
}
