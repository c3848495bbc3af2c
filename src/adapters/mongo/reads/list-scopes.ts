import type { ListScopesQuery } from '../../../core/store/driver.js'
import type { ScopeSummary } from '../../../core/store/records.js'
import type { Namespace } from '../connection/namespace.js'
import type { Read } from '../connection/reads.js'
import { countsIn, readSums, usageIn } from '../documents/scope-document.js'
import { listRange } from './lists.js'

const FIRST_SCOPE = '\x01'

/** Lists scopes in the order of their UTF-8 bytes. A scope whose last row is gone keeps its document. */
export function listScopes(namespace: Namespace, { limit, after }: ListScopesQuery): Read<ScopeSummary[]> {
  // Only keys have the field. Locks start with NUL, which no scope contains.
  const filter = { scope: null, _id: after === null ? { $gte: FIRST_SCOPE } : { $gt: after } }
  const range = { filter, sort: { _id: 1 }, index: 'scopes' }
  return listRange(namespace, 'objects', range, limit, (document) => {
    const sums = readSums(document)
    return { scope: document._id, usage: usageIn(sums), counts: countsIn(sums) }
  })
}
