import { StorageError } from '../errors.js'
import { guardedEndpoint, type Endpoint } from '../http/endpoint.js'
import { readReference } from '../http/reference-input.js'
import { OBJECT_STATUSES, toClientObject, type ObjectReference } from '../records.js'
import type { ListByScopeInput, StorageObjectStore } from '../store.js'
import { invalid, shown } from '../validation/invalid.js'
import { checkOneOf, optional } from '../validation/scalars.js'

const DEFAULT_LIMIT = 50
const LIMIT = /^(?:[1-9][0-9]?|100)$/

function checkLimit(text: string): number {
  if (!LIMIT.test(text)) throw invalid('limit', `must be an integer from 1 to 100, not ${shown(text)}.`)
  return Number(text)
}

/** The two endpoints of the plugin. `bucket` is the one taken where a request names none; `null`: each must. */
export function dbEndpoints(objects: StorageObjectStore, bucket: string | null): readonly Endpoint[] {
  const listObjects = guardedEndpoint<ListByScopeInput, null>({
    method: 'GET',
    path: '/db/objects',
    operation: 'db.listObjects',
    parse: ({ query }, { scope }) => ({
      scope,
      status:
        optional(query.get('status'), (status) => checkOneOf('status', status, OBJECT_STATUSES)) ?? 'active',
      limit: optional(query.get('limit'), () => checkLimit(query.get('limit')!)) ?? DEFAULT_LIMIT,
      cursor: query.get('cursor'),
      route: query.get('route'),
    }),
    own: () => null,
    async act(input) {
      const { objects: rows, ...rest } = await objects.listByScope(input)
      return { status: 200, body: { objects: rows.map(toClientObject), ...rest } }
    },
  })

  const getObject = guardedEndpoint<ObjectReference, ReturnType<typeof toClientObject>>({
    method: 'GET',
    path: '/db/object',
    operation: 'db.getObject',
    parse: ({ query }) => readReference(query, bucket),
    async own(reference, { scope }) {
      const object = await objects.find(reference)
      if (object?.scope !== scope || object.status === 'deleted') throw new StorageError('OBJECT_NOT_FOUND')
      return toClientObject(object)
    },
    act: async (_reference, object) => ({ status: 200, body: { object } }),
  })

  return [listObjects, getObject]
}
