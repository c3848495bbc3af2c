import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { readReference, referenceQuery } from '../../core/http/reference-input.js'
import type { ObjectReference, StorageObject } from '../../core/store/records.js'
import { notFound } from '../request-input/attempt-reference.js'
import { removeBytes } from '../record-bytes.js'
import type { ServerDependencies } from '../server-dependencies.js'
import type { OperationPolicy } from '../options/server-policy.js'

const OPERATION = 'delete'

/** `DELETE /object` removes the active object or pending upload at a key: first the row, then its bytes. */
export function deleteObjectEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { records } = dependencies
  return guardedEndpoint<ObjectReference, StorageObject>({
    method: 'DELETE',
    path: '/object',
    operation: OPERATION,
    describe: () => ({
      summary: 'Deletes the object or pending upload at a key, and its bytes.',
      query: referenceQuery(dependencies.bucket),
      answer: { status: 204, description: 'The object has been deleted.' },
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND'],
    }),
    parse: ({ query }) => readReference(query, dependencies.bucket),
    async own(reference, { scope }) {
      const object = await records.objects.find({ ...reference, scope })
      if (object?.scope !== scope || object.status === 'deleted') throw notFound()
      return object
    },
    guard: ({ bucket, key }, object) => ({
      guards: [policy.guard],
      context: { bucket, key, object, route: object.route, size: object.size ?? object.declaredSize },
    }),
    async act({ bucket, key }, _, { scope, request }) {
      const removed = await records.remove({ bucket, key, scope, mode: records.deleteMode }, request)
      if (!removed) throw notFound()
      await removeBytes(dependencies, removed, { request, operation: OPERATION })
      return { status: 204 }
    },
  })
}
