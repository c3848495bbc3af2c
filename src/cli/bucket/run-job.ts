import { StorageError, type JobFailure, type JobOptions } from '../../index.js'
import { printable } from '../output/format.js'
import type { Item } from '../output/output.js'
import { shellQuoted } from '../output/shell-quoted.js'
import type { Session } from '../session.js'

/** Milliseconds between two lines of progress, so that a million items don't make a million lines. */
const PROGRESS_INTERVAL = 250

/** Runs a job and shows its progress. A signal ends it once what is in progress is done; then `checkpoint` throws. */
export async function runJob<Result>(
  { output, interruption }: Session,
  total: number | null,
  job: (options: Required<Pick<JobOptions, 'signal' | 'onProgress'>>) => Promise<Result>,
): Promise<Result> {
  const progress = output.progress(total)
  let shownAt = 0
  interruption.finishSteps()
  try {
    return await job({
      signal: interruption.signal,
      onProgress({ done, after }) {
        const now = Date.now()
        if (now - shownAt < PROGRESS_INTERVAL) return
        shownAt = now
        progress.advance(done, after)
      },
    })
  } finally {
    progress.end()
  }
}

/** What a command prints once its job has ended. */
export interface JobEnd {
  /** Printed as the last JSON line. */
  readonly result: object
  /** Printed for people. */
  readonly summary: string
  readonly failed?: readonly JobFailure[]
  /** How to go on after an interruption or a failure. */
  readonly resume: string | null
}

/** Prints the end of a job. @throws Interrupted if a signal ended it. */
export async function printEnd(
  { output, interruption }: Session,
  { result, summary, failed = [], resume }: JobEnd,
): Promise<void> {
  await output.items(failedItems(failed))
  await output.items([{ json: result, text: null }])
  output.summary(summary)
  if (resume !== null && (failed.length > 0 || interruption.signal.aborted)) output.note(resume)
  await interruption.checkpoint()
}

/** Says how to go on after a key. */
export function resumeAfter(after: string | null): string | null {
  return after === null ? null : `To go on, repeat the command with --after ${shellQuoted(after)}`
}

function failedItems(failed: readonly JobFailure[]): readonly Item[] {
  return failed.map(({ bucket, key, error }) => {
    const { code, message } = describe(error)
    return {
      json: { failed: { bucket, key, error: { ...(code !== null && { code }), message } } },
      text: `failed  ${printable(`${bucket}/${key}`)}: ${printable(message)}`,
    }
  })
}

function describe(error: unknown): { readonly code: string | null; readonly message: string } {
  if (error instanceof StorageError) return { code: error.code, message: error.message }
  return { code: null, message: error instanceof Error ? error.message : String(error) }
}
