import type { BatchRecovery, WriteBatcherOptions } from '../../../../../src/adapters/shared/write-batcher.js'

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
  /** Ends the batch: with the name of each job, or with these results. */
  readonly end: (results?: readonly PromiseSettledResult<string>[]) => Promise<void>
  readonly fail: (error: Error) => Promise<void>
}

/** Runs batches under the control of the test, and records which ones started. */
export function batchRunner(recoveryFrom: BatchRecovery = 'fail'): {
  readonly started: StartedBatch[]
  readonly options: WriteBatcherOptions<TestJob, string>
} {
  const started: StartedBatch[] = []
  return {
    started,
    options: {
      recoveryFrom: () => recoveryFrom,
      conflictKeyOf: ({ conflictKey }) => conflictKey,
      run: (jobs) => {
        const names = jobs.map(({ name }) => name)
        return new Promise((resolve, reject) => {
          started.push({
            names,
            async end(results = names.map((name) => fulfilled(`${name} done`))) {
              resolve(results)
              await pendingCallbacks()
            },
            async fail(error) {
              reject(error)
              await pendingCallbacks()
            },
          })
        })
      },
    },
  }
}

/** Waits until all pending promise callbacks have run. */
export async function pendingCallbacks(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
}
