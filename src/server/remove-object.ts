import type { ErrorContext } from '../core/reporter.js'
import type { RemoveInput } from '../core/store/contract.js'
import type { StorageObject } from '../core/store/records.js'
import { removeBytes } from './record-bytes.js'
import type { ServerDependencies } from './server-dependencies.js'

/** Removes the object or pending upload at a key: first the row, then its bytes. Returns the removed row, or `null`. */
export async function removeObject(
  dependencies: ServerDependencies,
  input: RemoveInput,
  context: ErrorContext,
): Promise<StorageObject | null> {
  const removed = await dependencies.records.remove(input, context.request)
  if (removed) await removeBytes(dependencies, removed, context)
  return removed
}
