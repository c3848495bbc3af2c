import { StorageError } from './errors.js'

const MAX_TOGETHER = 64
const MAX_WAITING = 10_000

/** What becomes of the jobs of a batch that failed as a whole, so that nobody suffers from a neighbour. */
export type AfterFailure =
  /** Each gets the error: the batch may have taken effect and can't be repeated, or each alone would fail as well. */
  | 'fail'
  /** Each is run by itself, in their order: for jobs that get in each other's way. */
  | 'one-by-one'
  /** Each is run by itself, all at the same time: one that takes long holds none of the others. */
  | 'at-once'

export interface LanesOptions<Job, Answer> {
  /**
   * Runs the jobs of one batch and says of each, in their order, what came of it. Only a rejection concerns the batch as
   * a whole. A batch of one is how a job runs whose caller is alone.
   */
  readonly run: (jobs: readonly Job[]) => Promise<readonly PromiseSettledResult<Answer>[]>
  /**
   * Jobs of a lane that this names alike never share a batch. So a batch that is repeated does to each thing what it did
   * the first time: of two jobs on one thing the first would undo the second.
   */
  readonly turnOf: (job: Job) => string
  /** Asked about the rejection of a batch of several. Anything but `fail` MUST be safe to repeat after that error. */
  readonly afterFailure: (error: unknown) => AfterFailure
  /** Jobs of a batch at most. Default 64. */
  readonly maxTogether?: number
  /** Jobs of one lane that may wait; further ones are refused. Default 10 000. */
  readonly maxWaiting?: number
}

export interface Lanes<Job, Answer> {
  /** Runs the job in the lane of this key. What it resolves or rejects with is the job's own. */
  run(key: string, job: Job): Promise<Answer>
  /** Lanes with a batch in flight. The others take no memory. */
  readonly busy: number
}

interface Waiting<Job, Answer> {
  readonly job: Job
  readonly turn: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Lets jobs of one key share the way: one batch of a lane is in flight, and what arrives meanwhile is the next. A caller
 * that is alone waits for nobody: its job starts in the same tick. Lanes of different keys know nothing of each other.
 */
export function createLanes<Job, Answer>(options: LanesOptions<Job, Answer>): Lanes<Job, Answer> {
  const { run, turnOf, afterFailure, maxTogether = MAX_TOGETHER, maxWaiting = MAX_WAITING } = options
  /** Who waits in each lane that has a batch in flight, in the order of arrival. */
  const lanes = new Map<string, Waiting<Job, Answer>[]>()

  async function drive(key: string, first: Waiting<Job, Answer>): Promise<void> {
    const waiting: Waiting<Job, Answer>[] = []
    lanes.set(key, waiting)
    for (let batch = [first]; batch.length > 0; batch = takeBatch(waiting)) {
      try {
        await settle(batch)
      } catch (error) {
        // `afterFailure` itself failed. The lane must go on, and nobody may wait for ever.
        for (const { reject } of batch) reject(error)
      }
    }
    lanes.delete(key)
  }

  /** The longest beginning of the queue that may share a batch. */
  function takeBatch(waiting: Waiting<Job, Answer>[]): Waiting<Job, Answer>[] {
    const turns = new Set<string>()
    for (const { turn } of waiting) {
      if (turns.size === maxTogether || turns.has(turn)) break
      turns.add(turn)
    }
    return waiting.splice(0, turns.size)
  }

  /** Runs a batch until each caller has its answer. */
  async function settle(batch: readonly Waiting<Job, Answer>[]): Promise<void> {
    let results: readonly PromiseSettledResult<Answer>[]
    try {
      results = await run(batch.map(({ job }) => job))
      if (results.length !== batch.length) {
        throw new RangeError(`A batch of ${batch.length} jobs got ${results.length} answers.`)
      }
    } catch (error) {
      switch (batch.length > 1 ? afterFailure(error) : 'fail') {
        case 'fail':
          for (const { reject } of batch) reject(error)
          return
        case 'one-by-one':
          for (const each of batch) await settle([each])
          return
        case 'at-once':
          await Promise.all(batch.map((each) => settle([each])))
          return
      }
    }
    batch.forEach(({ resolve, reject }, index) => {
      const result = results[index]!
      if (result.status === 'fulfilled') resolve(result.value)
      else reject(result.reason)
    })
  }

  return {
    run(key, job) {
      return new Promise((resolve, reject) => {
        const arrived = { job, turn: turnOf(job), resolve, reject }
        const waiting = lanes.get(key)
        if (waiting === undefined) void drive(key, arrived)
        else if (waiting.length < maxWaiting) waiting.push(arrived)
        else reject(laneFull(maxWaiting))
      })
    },
    get busy() {
      return lanes.size
    },
  }
}

function laneFull(maxWaiting: number): StorageError {
  const message = `${maxWaiting} writes of one scope are waiting already; this one was not begun.`
  return new StorageError('DATABASE_UNAVAILABLE', { message })
}
