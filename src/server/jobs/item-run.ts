import { StorageError } from '../../core/errors.js'
import { workThrough } from '../work-through.js'
import { InOrder } from './in-order.js'
import { MAX_FAILURES, showProgress, type JobFailure, type JobOptions } from './job.js'
import type { JobReport } from './report-once.js'

export interface ItemRunOptions {
  readonly operation: string
  readonly report: JobReport
  readonly concurrency: number
  readonly signal: AbortSignal | null
  readonly onProgress: JobOptions['onProgress']
  readonly total?: number
  /** Returns whether an error ends the run. Default: an unavailable database does, because it concerns every item. */
  readonly isEndedBy?: (error: unknown) => boolean
}

/** What an item has in a result. */
interface Named {
  readonly bucket: string
  readonly key: string
}

/** Works through the items of a job, several at once, and keeps count of what is done and what failed. */
export class ItemRun {
  /** The first failures, at most {@link MAX_FAILURES}. */
  readonly failed: JobFailure[] = []
  /** The number of all failures. */
  failures = 0
  /** Where a later run can go on, if the job has an order. */
  after: string | null
  readonly #options: ItemRunOptions
  #done = 0

  /** @param after Where the run starts. */
  constructor(options: ItemRunOptions, after: string | null = null) {
    this.#options = options
    this.after = after
  }

  /**
   * Calls `work` for each item of each page, in order, and goes on to the next page while some are in progress. When the signal
   * aborts, it completes what is in progress and returns; when an error ends the run, it rejects with that. `onDone` is called in
   * the order of the items, once all before it are done.
   */
  async process<Item extends Named, Result>(
    pages: AsyncIterable<readonly Item[]>,
    work: (item: Item) => Promise<Result>,
    onDone?: (item: Item, settled: PromiseSettledResult<Result>) => void,
  ): Promise<void> {
    const { concurrency, signal } = this.#options
    const { isEndedBy = concernsEveryItem } = this.#options
    const order = new InOrder()
    let started = 0
    let ended: { readonly error: unknown } | null = null
    const stop = () => (order.stop(), false)

    await workThrough(pages, concurrency, async (item) => {
      const index = started++
      await order.roomFor(index)
      if (signal?.aborted || ended) return stop()
      const [settled] = await Promise.allSettled([work(item)])
      if (settled.status === 'rejected') {
        if (isEndedBy(settled.reason)) {
          ended ??= { error: settled.reason as unknown }
          return stop()
        }
        this.fail(item, settled.reason)
      }
      order.done(index, () => onDone?.(item, settled))
      this.advance()
      return !signal?.aborted || stop()
    })
    if (ended) throw (ended as { readonly error: unknown }).error
  }

  /** Counts an item that is done. */
  advance(): void {
    const { operation, report, onProgress, total } = this.#options
    const { after } = this
    const known = { ...(total !== undefined && { total }), ...(after !== null && { after }) }
    showProgress(onProgress, { done: ++this.#done, ...known }, report, operation)
  }

  /** Records a failure and reports it. */
  fail({ bucket, key }: Named, error: unknown): void {
    const { report, operation } = this.#options
    report(error, { operation }, bucket)
    this.failures++
    if (this.failed.length < MAX_FAILURES) this.failed.push({ bucket, key, error })
  }
}

function concernsEveryItem(error: unknown): boolean {
  return error instanceof StorageError && error.code === 'DATABASE_UNAVAILABLE'
}
