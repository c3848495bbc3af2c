import type { ListScopesQuery } from '../../../core/store/driver.js'
import type { ScopeSummary } from '../../../core/store/records.js'
import type { Namespace } from '../connection/namespace.js'
import { chooseMoment, type Read } from '../connection/reads.js'
import { readSums, rowsOfStatus, usageIn } from '../documents/scope-document.js'

const FIRST_SCOPE = '\x01'

/** Lists scopes in the order of their UTF-8 bytes. A scope whose last row is gone keeps its document. */
export function listScopes(namespace: Namespace, { limit, after }: ListScopesQuery): Read<ScopeSummary[]> {
  // Only keys have the field. Locks start with NUL, which no scope contains.
  const filter = { scope: null, _id: after === null ? { $gte: FIRST_SCOPE } : { $gt: after } }
  return async (session) => {
    const moment = await chooseMoment(namespace, session, namespace.objects)
    const cursor = moment.open((options) =>
      namespace.objects
        .find(filter, { ...options, batchSize: limit + 1 })
        .sort({ _id: 1 })
        .limit(limit)
        .hint('scopes'),
    )
    return (await cursor.toArray()).map((document) => {
      const sums = readSums(document)
      return {
        scope: document._id,
        usage: usageIn(sums),
        counts: {
          pending: rowsOfStatus(sums, 'pending'),
          active: rowsOfStatus(sums, 'active'),
          deleted: rowsOfStatus(sums, 'deleted'),
        },
      }
    })
  }
}
