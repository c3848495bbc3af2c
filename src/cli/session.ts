import { StorageError, type JobFailure, type JobOptions, type StorageObjectStore } from '../index.js'
import { printable } from '../core/printable.js'
import type { FoundDatabase } from './databases/find-database.js'
import { causesOf } from './failure-report.js'
import { EXIT, Interrupted, type Interruption } from './exit.js'
import { count, counted, shellQuoted } from './format.js'
import type { Item, Output } from './output.js'

/** What a command works with while it is connected. */
export interface Session {
  readonly store: StorageObjectStore
  readonly database: FoundDatabase
  readonly output: Output
  readonly interruption: Interruption
}

interface LongWork {
  /** Number of items, if known. */
  readonly total: number | null
  /** The work changes nothing, so it needs no summary once the reader has closed the pipe. */
  readonly readOnly?: boolean
  /** Returns a sentence about the progress. `complete`: nothing is left to do. */
  summary(done: number, complete: boolean): string
}

export interface Step {
  /** Number of items processed. */
  readonly done: number
  /** What to print. Printed after the step has been counted: a failing write undoes nothing. */
  readonly items?: readonly Item[]
}

/** Runs long work in steps, ends it on a signal between two of them, and prints the summary. Resolves to the number of items. */
export async function inSteps(
  { output, interruption }: Session,
  work: LongWork,
  steps: AsyncIterable<Step>,
): Promise<number> {
  const progress = output.progress(work.total)
  let done = 0
  let complete = false
  let needsSummary = true
  interruption.finishSteps()
  try {
    for await (const step of steps) {
      done += step.done
      await output.items(step.items ?? [])
      progress.advance(done)
      await interruption.checkpoint()
    }
    complete = true
    return done
  } catch (error) {
    // Before the first step, the error message alone says everything.
    needsSummary = error instanceof Interrupted ? !(work.readOnly && error.exitCode === EXIT.ok) : done > 0
    throw error
  } finally {
    progress.end()
    if (needsSummary) output.note(work.summary(done, complete))
  }
}

export interface Listing<Position> {
  /** What a row is, such as `object`. */
  readonly noun: string
  /** Number of rows, if known. */
  readonly total?: number | null
  /** Maximum number of rows. Default: all. */
  readonly limit: number | undefined
  /** Where the listing starts. */
  readonly after?: Position | undefined
}

interface ListedPage<Row, Position> {
  readonly rows: readonly Row[]
  /** Where the next page starts, or `null` at the end. */
  readonly next: Position | null
}

const PAGE_SIZE = 1000

/** Prints rows page by page. `readPage` returns `null` if there are none. */
export async function list<Row, Position>(
  session: Session,
  { noun, total = null, limit = Number.MAX_SAFE_INTEGER, after: start }: Listing<Position>,
  itemOf: (row: Row) => Item,
  readPage: (limit: number, after: Position | null) => Promise<ListedPage<Row, Position> | null>,
): Promise<void> {
  async function* pages(): AsyncGenerator<Step, void> {
    let after: Position | null = start ?? null
    let left = limit
    do {
      const page: ListedPage<Row, Position> | null = await readPage(Math.min(PAGE_SIZE, left), after)
      if (!page) return
      yield { done: page.rows.length, items: page.rows.map(itemOf) }
      left -= page.rows.length
      after = page.next
    } while (after !== null && left > 0)
  }

  const summary = (done: number, complete: boolean) =>
    `${complete ? '' : 'Stopped after '}${counted(done, noun)}.`
  const work = { total: total === null ? null : Math.min(total, limit), readOnly: true, summary }
  await inSteps(session, work, pages())
}

/** Milliseconds between two lines of progress, so that a million items don't make a million lines. */
const PROGRESS_INTERVAL = 250

interface Job<Result> {
  /** Number of items, if known. */
  readonly total?: number | null
  readonly summary: (result: Result) => string
  /** Says how to go on after an interruption or a failure. `after`: the last key that is done, if the job has an order. */
  readonly resume: (after: string | null) => string | null
}

/** `failed` has the first failures, and `failures` is the number of all. `after`: the last key that is done. */
interface JobResult {
  readonly failed?: readonly JobFailure[]
  readonly failures?: number
  readonly after?: string | null
}

/** Runs a job, shows its progress and prints its result. @throws Interrupted if a signal ended it. */
export async function runJob<Result extends JobResult>(
  { output, interruption }: Session,
  run: (options: Required<Pick<JobOptions, 'signal' | 'onProgress'>>) => Promise<Result>,
  { total = null, summary, resume }: Job<Result>,
): Promise<Result> {
  const progress = output.progress(total)
  let shownAt = 0
  let position: string | null = null
  interruption.finishSteps()
  let result: Result
  try {
    result = await run({
      signal: interruption.signal,
      onProgress({ done, after }) {
        position = after ?? null
        const now = Date.now()
        if (now - shownAt < PROGRESS_INTERVAL) return
        shownAt = now
        progress.advance(done, after)
      },
    })
  } catch (error) {
    progress.end()
    const advice = resume(position)
    if (advice !== null && mayPass(error)) output.note(advice)
    throw error
  }
  progress.end()
  // A signal or a closed pipe that comes after the work has ended changes nothing.
  const isStopped = interruption.signal.aborted
  const { failed = [], failures, ...counts } = result
  await output.items(failed.map(failedItem))
  const more = (failures ?? 0) - failed.length
  if (more > 0) output.note(`${count(more)} more failed.`)
  await output.items([{ json: { ...counts, failed: failures }, text: null }])
  output.summary(summary(result))
  const advice = resume(result.after ?? null)
  // `after` is beyond the failures.
  const mayRetry = result.after === undefined && failed.some(({ error }) => mayPass(error))
  if (advice !== null && (isStopped || mayRetry)) output.note(advice)
  if (isStopped) await interruption.checkpoint()
  return result
}

/** Whether a repeated command may succeed. A refusal, such as that of a quota, is final. */
function mayPass(error: unknown): boolean {
  return !(error instanceof StorageError && error.status < 500)
}

/** Says how to go on with a job that leaves nothing to do for what is done. */
export const REPEAT = 'To go on, repeat the command. It continues with what is left.'

export function resumeAfter(after: string | null): string | null {
  return after === null ? null : `To go on, repeat the command with --after ${shellQuoted(after)}`
}

function failedItem({ bucket, key, error: failure }: JobFailure): Item {
  const error = described(failure)
  return {
    json: { failed: { bucket, key, error } },
    text: `failed  ${printable(`${bucket}/${key}`)}: ${printable(error.message)}`,
  }
}

function described(error: unknown): { readonly code?: string; readonly message: string } {
  if (!(error instanceof StorageError))
    return { message: error instanceof Error ? error.message : String(error) }
  const [cause] = causesOf(error.cause)
  return { code: error.code, message: cause ? `${error.message} Cause: ${cause.message}` : error.message }
}
