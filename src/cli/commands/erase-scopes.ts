import type { EraseScopeResult, ScopeSummary, StorageObjectStore } from '../../index.js'
import { runErasure } from '../../server/jobs/erase-scope.js'
import { MAX_FAILURES, type JobContext, type JobOptions, type WithFailures } from '../../server/jobs/job.js'
import { PAGE_SIZE, pagesOf } from '../../server/jobs/pages.js'
import { bytesOf } from '../../server/storage.js'

/** What is about to be erased. */
export interface Holdings {
  /** The scopes that hold anything, in byte order. */
  readonly first: string
  readonly last: string
  readonly scopes: number
  readonly active: number
  readonly pending: number
  readonly deleted: number
  readonly bytes: number
}

/** Yields the scopes with a prefix that hold anything, in byte order, including those that are new by then. */
async function* scopesWith(store: StorageObjectStore, prefix: string): AsyncGenerator<ScopeSummary, void> {
  const pages = pagesOf<ScopeSummary>((last) =>
    // A position, so scopes that vanish behind it hide no other.
    store.listScopes({ prefix, limit: PAGE_SIZE, after: last?.scope }),
  )
  for await (const page of pages) {
    yield* page.filter(({ counts }) => counts.active + counts.pending + counts.deleted > 0)
  }
}

/** Adds up what the scopes with a prefix hold. `null` if there is nothing. */
export async function holdingsOf(store: StorageObjectStore, prefix: string): Promise<Holdings | null> {
  const sums = { scopes: 0, active: 0, pending: 0, deleted: 0, bytes: 0 }
  let first: string | undefined
  let last = ''
  for await (const { scope, usage, counts } of scopesWith(store, prefix)) {
    first ??= scope
    last = scope
    sums.scopes++
    for (const status of ['active', 'pending', 'deleted'] as const) sums[status] += counts[status]
    sums.bytes += usage.bytes
  }
  return first === undefined ? null : { first, last, ...sums }
}

/** Looks for the bytes of an object of the scope. Returns whether it has one. Rejects if the bucket can't be reached. */
export async function lookIntoBucket({ storage, records }: JobContext, scope: string): Promise<boolean> {
  const [first] = (await records.objects.listByScope({ scope, limit: 1, fromPrimary: true })).objects
  if (first) await storage.head(bytesOf(first))
  return first !== undefined
}

interface ErasedScopes extends EraseScopeResult {
  readonly scopes: number
}

/** Erases the scopes with a prefix, one after the other, until the signal aborts. */
export async function eraseScopesWith(
  context: JobContext,
  prefix: string,
  { signal, onProgress }: Required<Pick<JobOptions, 'signal' | 'onProgress'>>,
): Promise<WithFailures<ErasedScopes>> {
  const sums = { scopes: 0, objects: 0, bytes: 0, reservations: 0, history: 0, failures: 0 }
  const failed: EraseScopeResult['failed'][number][] = []
  let done = 0
  let isReachable = false
  for await (const { scope } of scopesWith(context.records.objects, prefix)) {
    if (signal?.aborted) break
    // A bucket that can't be reached ends the command before it has removed the first row.
    isReachable ||= await lookIntoBucket(context, scope)
    const doneBefore = done
    const erased = await runErasure(context, {
      scope,
      signal,
      onProgress: (progress) => {
        done = doneBefore + progress.done
        onProgress?.({ done })
      },
    })
    sums.scopes++
    for (const count of ['objects', 'bytes', 'reservations', 'history', 'failures'] as const) {
      sums[count] += erased[count]
    }
    failed.push(...erased.failed.slice(0, MAX_FAILURES - failed.length))
  }
  return { ...sums, failed }
}
