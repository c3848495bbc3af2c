import type { Call } from '../core/http/endpoint.js'
import type { Subtree } from '../core/http/handler.js'
import type { ObjectStorage } from '../core/object-storage.js'

/** Below this path of the server lie the signed URLs of a storage that is no server of its own. */
const PREFIX = '/_storage'

export function storageSubtrees(storage: ObjectStorage): readonly Subtree[] {
  const serve = storage.serve?.bind(storage)
  return serve ? [{ prefix: PREFIX, operation: 'storage', serve }] : []
}

/** Where these URLs begin, as the client of this request sees it. */
export function storageURL({ baseURL }: Call): string {
  return baseURL + PREFIX
}
