import type { StorageObject } from '../../core/store/records.js'
import type { ErrorContext } from '../../core/reporter.js'
import type { ServerParts } from '../server-parts.js'

/** Does what makes an upload possible. One that can't happen isn't left to hold room until it lapses: its attempt ends. */
export async function endIfFailed<T>(
  { records, report }: ServerParts,
  { bucket, key, id, scope }: StorageObject,
  context: ErrorContext,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await records.objects
      .release({ bucket, key, id, scope })
      .catch((failure: unknown) => report(failure, context))
    throw error
  }
}
