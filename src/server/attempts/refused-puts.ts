import { CREATE_ONLY_ADVICE, type ObjectStorage } from '../../core/object-storage.js'
import { printable } from '../../core/printable.js'
import type { Report } from '../../core/reporter.js'
import type { StorageObject } from '../../core/store/records.js'

/** What a client says about bytes that the storage refused. It may be made up. */
export interface RefusedPut {
  /** `null` if the browser could not read a response. */
  readonly status: number | null
  readonly message: string
}

/** How many attempts are remembered. Those of the last minute always are. */
const MAX_ATTEMPTS = 1000

const MAX_PER_MINUTE = 10

/** Returns a reporter of PUTs that the storage refused, which the server doesn't see: one an attempt, and ten a minute a scope. */
export function refusedPutReport(
  report: Report,
  now: () => Date,
  { createOnly }: Pick<ObjectStorage, 'createOnly'>,
) {
  /** By attempt, the oldest first. Times are in milliseconds. */
  const reported = new Map<string, { readonly scope: string; readonly at: number }>()

  return ({ id, scope, bucket }: StorageObject, refused: RefusedPut | null, request: Request): void => {
    if (refused === null || reported.has(id)) return
    const at = now().getTime()
    const minuteAgo = at - 60_000
    let ofScope = 0
    for (const other of reported.values()) {
      if (other.scope === scope && other.at > minuteAgo) ofScope++
    }
    if (ofScope >= MAX_PER_MINUTE) return
    reported.set(id, { scope, at })
    for (const [oldest, other] of reported) {
      if (reported.size <= MAX_ATTEMPTS || other.at > minuteAgo) break
      reported.delete(oldest)
    }
    const what =
      refused.status === null
        ? `The client could not read a response of the bucket ${quoted(bucket)} to a PUT. Its CORS rules or its address may be wrong, or it closed the connection early (too large, too slow, a refused signature).`
        : `The bucket ${quoted(bucket)} refused a PUT with status ${refused.status}.`
    const advice = refused.status === 501 && createOnly ? ` ${CREATE_ONLY_ADVICE}` : ''
    const error = new Error(`${what}${advice} The client of upload ${id} reports: ${quoted(refused.message)}`)
    report(error, { request, operation: 'upload.put' })
  }
}

function quoted(text: string): string {
  return printable(JSON.stringify(text))
}
