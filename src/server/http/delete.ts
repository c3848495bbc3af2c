import { guardedEndpoint, type Endpoint } from '../../core/http/endpoint.js'
import { referenceFields } from '../../core/http/fields.js'
import { notFound } from '../attempts/errors.js'
import { removeObject } from '../objects.js'
import type { OperationPolicy } from '../options.js'
import type { ServerDependencies } from '../dependencies.js'

/** `DELETE /object` removes the active object or pending upload at a key: first the row, then its bytes. */
export function deleteEndpoint(dependencies: ServerDependencies, policy: OperationPolicy): Endpoint {
  const { records } = dependencies
  const operation = 'delete'
  return guardedEndpoint({
    method: 'DELETE',
    path: '/object',
    operation,
    query: referenceFields(dependencies.bucket),
    describe: () => ({
      summary: 'Deletes the object or pending upload at a key, and its bytes.',
      answer: { status: 204, description: 'The object has been deleted.' },
      errors: ['VALIDATION_ERROR', 'FORBIDDEN', 'OBJECT_NOT_FOUND', 'KEY_CONFLICT'],
    }),
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
      const removed = await removeObject(dependencies, input, { request, operation })
      // The object is gone or was replaced. Looking again finds out, and asks the guard about the replacement.
      return removed && { status: 204 }
    },
  })
}
