import type { JobOutcome, WriteBatcherOptions } from '../../../../src/adapters/postgres/write-batcher.js'

/** A job with an optional conflict key. */
export interface TestJob {
  readonly name: string
  readonly conflictKey: string
}

export const job = (name: string, conflictKey = name): TestJob => ({ name, conflictKey })

export const fulfilled = (value: string): PromiseSettledResult<string> => ({ status: 'fulfilled', value })
export const refused = (reason: unknown): PromiseSettledResult<string> => ({ status: 'rejected', reason })

interface StartedBatch {
  readonly names: readonly string[]
  /** Ends the batch: with the name of each job, or with these outcomes. */
  readonly end: (outcomes?: readonly JobOutcome<string>[]) => Promise<void>
  readonly fail: (error: Error) => Promise<void>
}

/** Runs batches under the control of the test, and records which ones started. */
export function batchRunner(wasUndone = false): {
  readonly started: StartedBatch[]
  /** The jobs that wait for a held key. */
  readonly held: StartedBatch[]
  readonly options: WriteBatcherOptions<TestJob, string>
} {
  const started: StartedBatch[] = []
  const held: StartedBatch[] = []

  /** Records the start of jobs and returns their outcomes once the test ends them. */
  function start(list: StartedBatch[], jobs: readonly TestJob[]): Promise<readonly JobOutcome<string>[]> {
    const names = jobs.map(({ name }) => name)
    return new Promise((resolve, reject) => {
      list.push({
        names,
        async end(outcomes = names.map((name) => fulfilled(`${name} done`))) {
          resolve(outcomes)
          await pendingCallbacks()
        },
        async fail(error) {
          reject(error)
          await pendingCallbacks()
        },
      })
    })
  }

  return {
    started,
    held,
    options: {
      wasUndone: () => wasUndone,
      conflictKeyOf: ({ conflictKey }) => conflictKey,
      run: (jobs) => start(started, jobs),
      async runHeld(job) {
        await start(held, [job])
        return `${job.name} done`
      },
    },
  }
}

/** Waits until all pending promise callbacks have run. */
export async function pendingCallbacks(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
}
