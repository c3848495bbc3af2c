import { StorageError } from './errors.js'

const MAX_TOGETHER = 64
const MAX_WAITING = 10_000
const GATHER_FROM = 1
/** Steps of promises in which somebody who just got an answer makes the next call, if that is what they do. */
const STEPS_TO_NEXT_CALL = 8

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
   * Jobs of a lane that this names alike never share a batch, nor are they in flight at the same time. So a batch that is
   * repeated does to each thing what it did the first time: of two jobs on one thing the first would undo the second.
   */
  readonly turnOf: (job: Job) => string
  /** Asked about the rejection of a batch of several. Anything but `fail` MUST be safe to repeat after that error. */
  readonly afterFailure: (error: unknown) => AfterFailure
  /** Jobs of a batch at most. Default 64. */
  readonly maxTogether?: number
  /** With so many jobs of a lane in flight, further ones wait, and gather in the next batch. Default 1. */
  readonly gatherFrom?: number
  /** Jobs of one lane that may wait; further ones are refused. Default 10 000. */
  readonly maxWaiting?: number
}

export interface Lanes<Job, Answer> {
  /** Runs the job in the lane of this key. What it resolves or rejects with is the job's own. */
  run(key: string, job: Job): Promise<Answer>
  /** Lanes with a batch in flight. The others take no memory. */
  readonly busy: number
}

interface Lane<Job, Answer> {
  /** In the order of arrival. */
  readonly waiting: Waiting<Job, Answer>[]
  /** Of the jobs in flight, no two of which are alike. */
  readonly turns: Set<string>
}

interface Waiting<Job, Answer> {
  readonly job: Job
  readonly turn: string
  readonly resolve: (answer: Answer) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Lets jobs of one key share the way: while some are in flight, what arrives is the next batch. A caller that is alone
 * waits for nobody: its job starts in the same tick. Lanes of different keys know nothing of each other.
 */
export function createLanes<Job, Answer>(options: LanesOptions<Job, Answer>): Lanes<Job, Answer> {
  const { run, turnOf, afterFailure } = options
  const { maxTogether = MAX_TOGETHER, gatherFrom = GATHER_FROM, maxWaiting = MAX_WAITING } = options
  const lanes = new Map<string, Lane<Job, Answer>>()

  /** Lets go whoever may. */
  function advance(key: string, lane: Lane<Job, Answer>): void {
    while (lane.turns.size < gatherFrom) {
      const batch = takeBatch(lane)
      if (batch.length === 0) break
      void drive(key, lane, batch)
    }
    if (lane.turns.size === 0) lanes.delete(key)
  }

  async function drive(
    key: string,
    lane: Lane<Job, Answer>,
    batch: readonly Waiting<Job, Answer>[],
  ): Promise<void> {
    for (const { turn } of batch) lane.turns.add(turn)
    try {
      await settle(batch)
    } catch (error) {
      // `afterFailure` itself failed. The lane must go on, and nobody may wait for ever.
      for (const { reject } of batch) reject(error)
    }
    // Those of a batch who go on at once do so together again, instead of one ahead and the others after it.
    for (let step = 0; batch.length > 1 && step < STEPS_TO_NEXT_CALL; step++) await Promise.resolve()
    for (const { turn } of batch) lane.turns.delete(turn)
    advance(key, lane)
  }

  /** The longest beginning of the queue that may share a batch now; none overtakes who waits for a turn. */
  function takeBatch({ waiting, turns }: Lane<Job, Answer>): Waiting<Job, Answer>[] {
    const taken = new Set<string>()
    for (const { turn } of waiting) {
      if (taken.size === maxTogether || taken.has(turn) || turns.has(turn)) break
      taken.add(turn)
    }
    return waiting.splice(0, taken.size)
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
        const turn = turnOf(job)
        let lane = lanes.get(key)
        if (lane === undefined) lanes.set(key, (lane = { waiting: [], turns: new Set() }))
        lane.waiting.push({ job, turn, resolve, reject })
        advance(key, lane)
        if (lane.waiting.length > maxWaiting) lane.waiting.pop()!.reject(laneFull(maxWaiting))
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
