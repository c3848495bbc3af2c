import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { readReference, referenceQuery } from '../../core/http/reference-input.js'
import type { ObjectReference, StorageObject } from '../../core/store/records.js'
import { notFound } from '../request-input/attempt-reference.js'
import { removeObject } from '../remove-object.js'
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
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'KEY_CONFLICT'],
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
    async act(_, { bucket, key, scope, attemptId }, { request }) {
      const input = { bucket, key, scope, attemptId, mode: records.deleteMode }
      const removed = await removeObject(dependencies, input, { request, operation: OPERATION })
      // The object is gone or was replaced. Looking again finds out, and asks the guard about the replacement.
      return removed && { status: 204 }
    },
  })
}
