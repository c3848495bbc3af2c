import type { BatchRecovery, WriteBatcherOptions } from '../../../../../src/core/store/write-batcher.js'

/** A job: `thing` is what it concerns. */
export interface TestJob {
  readonly name: string
  readonly thing: string
}

export const job = (name: string, thing = name): TestJob => ({ name, thing })

export const answered = (value: string): PromiseSettledResult<string> => ({ status: 'fulfilled', value })
export const refused = (reason: unknown): PromiseSettledResult<string> => ({ status: 'rejected', reason })

interface Begun {
  readonly names: readonly string[]
  /** Answers the batch: each job with its own name, or as is said here. */
  readonly end: (results?: readonly PromiseSettledResult<string>[]) => Promise<void>
  readonly fail: (error: Error) => Promise<void>
}

/** Runs batches when the test says so, and remembers what began. */
export function batchRunner(recoveryFrom: BatchRecovery = 'fail'): {
  readonly begun: Begun[]
  readonly options: WriteBatcherOptions<TestJob, string>
} {
  const begun: Begun[] = []
  return {
    begun,
    options: {
      recoveryFrom: () => recoveryFrom,
      conflictKeyOf: ({ thing }) => thing,
      run: (jobs) => {
        const names = jobs.map(({ name }) => name)
        return new Promise((resolve, reject) => {
          begun.push({
            names,
            async end(results = names.map((name) => answered(`${name} done`))) {
              resolve(results)
              await everythingElse()
            },
            async fail(error) {
              reject(error)
              await everythingElse()
            },
          })
        })
      },
    },
  }
}

/** Lets all that waits for promises go on. */
export async function everythingElse(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 0))
}
