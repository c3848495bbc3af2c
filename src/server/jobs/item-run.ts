import { StorageError } from '../../core/errors.js'
import type { Report } from '../../core/reporter.js'
import { MAX_FAILURES, showProgress, type JobFailure, type JobOptions } from './job.js'

export interface ItemRunOptions {
  readonly operation: string
  readonly report: Report
  readonly concurrency: number
  readonly signal: AbortSignal | null
  readonly onProgress: JobOptions['onProgress']
  readonly total?: number
}

/** Works through the items of a job, several at once, and keeps count of what is done and what failed. */
export class ItemRun {
  /** The first failures, at most {@link MAX_FAILURES}. */
  readonly failed: JobFailure[] = []
  /** The number of all failures. */
  failures = 0
  readonly #options: ItemRunOptions
  #done = 0
  #after: string | null
  #ended: { readonly error: unknown } | null = null

  /** @param after Where the run starts. */
  constructor(options: ItemRunOptions, after: string | null = null) {
    this.#options = options
    this.#after = after
  }

  /** The position of the last item up to which every item is done. */
  get after(): string | null {
    return this.#after
  }

  /**
   * Calls `work` for each item of each page, in order. When the signal aborts, it completes what is in progress and returns; when
   * the database is away, it rejects with that error. `position` returns where a later run can go on after the item.
   */
  async process<Item extends { readonly bucket: string; readonly key: string }>(
    pages: AsyncIterable<readonly Item[]>,
    work: (item: Item) => Promise<unknown>,
    position?: (item: Item) => string,
  ): Promise<void> {
    const { signal, concurrency } = this.#options
    for await (const page of pages) {
      const items = page.entries()
      const finished: boolean[] = []
      let finishedUpTo = 0
      // All workers take their items from one iterator.
      const worker = async () => {
        for (const [index, item] of items) {
          if (!(await this.#attempt(item, work))) return
          this.#done++
          finished[index] = true
          while (finished[finishedUpTo]) finishedUpTo++
          const last = page[finishedUpTo - 1]
          if (last && position) this.#after = position(last)
          this.#showProgress()
          if (this.#ended || signal?.aborted) return
        }
      }
      if (!signal?.aborted) await Promise.all(Array.from({ length: concurrency }, worker))
      if (this.#ended) throw this.#ended.error
      if (signal?.aborted) return
    }
  }

  /** Returns whether the item is done, which includes a failure. */
  async #attempt<Item extends { readonly bucket: string; readonly key: string }>(
    item: Item,
    work: (item: Item) => Promise<unknown>,
  ): Promise<boolean> {
    try {
      await work(item)
    } catch (error) {
      if (concernsEveryItem(error)) {
        this.#ended ??= { error }
        return false
      }
      this.fail(item, error)
    }
    return true
  }

  /** Records a failure and reports it. */
  fail({ bucket, key }: { readonly bucket: string; readonly key: string }, error: unknown): void {
    const { report, operation } = this.#options
    report(error, { operation })
    this.failures++
    if (this.failed.length < MAX_FAILURES) this.failed.push({ bucket, key, error })
  }

  #showProgress(): void {
    const { onProgress, report, operation, total } = this.#options
    const progress = {
      done: this.#done,
      ...(total !== undefined && { total }),
      ...(this.#after !== null && { after: this.#after }),
    }
    showProgress(onProgress, progress, report, operation)
  }
}

function concernsEveryItem(error: unknown): boolean {
  return error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE'
}
