import { StorageError } from '../../core/errors.js'

const MAX_BATCH_SIZE = 64
const MAX_WAITING = 10_000
const BATCH_THRESHOLD = 1
/** Microtasks to wait so that callers who were just answered can join the next batch. */
const MICROTASKS_TO_NEXT_CALL = 8

/** What happens to the jobs of a batch that failed as a whole. */
export type BatchRecovery =
  /** Every job gets the error: the batch may have taken effect, or each job would fail on its own as well. */
  | 'fail'
  /** Each job runs on its own, one after the other. For jobs that conflict with each other. */
  | 'sequential'
  /** Each job runs on its own, all at once, so that a slow job delays no other. */
  | 'concurrent'

export interface WriteBatcherOptions<Job, Result> {
  /**
   * Runs the jobs of one batch and returns the outcome of each, in the same order. A rejection concerns the whole batch.
   * A job without company arrives as a batch of one.
   */
  readonly run: (jobs: readonly Job[]) => Promise<readonly PromiseSettledResult<Result>[]>
  /**
   * Returns the conflict key of a job. Jobs of one queue with the same conflict key never share a batch and are never in
   * flight together, so a repeated batch has the same effect as the first try: two jobs on one object could undo each other.
   */
  readonly conflictKeyOf: (job: Job) => string
  /** Decides what to do after a batch of two or more was rejected. Anything but `fail` MUST be safe to repeat after that error. */
  readonly recoveryFrom: (error: unknown) => BatchRecovery
  /** Maximum jobs in a batch. Default 64. */
  readonly maxBatchSize?: number
  /** Once this many jobs of a queue are in flight, later ones wait for the next batch. Default 1. */
  readonly batchThreshold?: number
  /** Maximum waiting jobs in one queue. Further jobs are rejected with `DATABASE_UNAVAILABLE`. Default 10,000. */
  readonly maxWaiting?: number
}

export interface WriteBatcher<Job, Result> {
  /** Runs the job in the queue of `queueKey` and settles with the job's own outcome. */
  run(queueKey: string, job: Job): Promise<Result>
  /** Number of queues with a batch in flight. Idle queues take no memory. */
  readonly busyQueues: number
}

interface Queue<Job, Result> {
  /** In order of arrival. */
  readonly waiting: QueuedJob<Job, Result>[]
  /** Conflict keys of the jobs in flight, all different. */
  readonly inFlight: Set<string>
}

interface QueuedJob<Job, Result> {
  readonly job: Job
  readonly conflictKey: string
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Batches the jobs of each queue: while some are in flight, arriving jobs collect and form the next batch. A job that
 * arrives at an idle queue starts in the same tick. Queues are independent of each other.
 */
export function createWriteBatcher<Job, Result>(
  options: WriteBatcherOptions<Job, Result>,
): WriteBatcher<Job, Result> {
  const { run, conflictKeyOf, recoveryFrom } = options
  const {
    maxBatchSize = MAX_BATCH_SIZE,
    batchThreshold = BATCH_THRESHOLD,
    maxWaiting = MAX_WAITING,
  } = options
  const queues = new Map<string, Queue<Job, Result>>()

  function startBatches(queueKey: string, queue: Queue<Job, Result>): void {
    while (queue.inFlight.size < batchThreshold) {
      const batch = takeBatch(queue)
      if (batch.length === 0) break
      void runBatch(queueKey, queue, batch)
    }
    if (queue.inFlight.size === 0) queues.delete(queueKey)
  }

  async function runBatch(
    queueKey: string,
    queue: Queue<Job, Result>,
    batch: readonly QueuedJob<Job, Result>[],
  ): Promise<void> {
    for (const { conflictKey } of batch) queue.inFlight.add(conflictKey)
    try {
      await settle(batch)
    } catch (error) {
      // `recoveryFrom` itself threw. The queue must go on, and no caller may wait forever.
      for (const { reject } of batch) reject(error)
    }
    // Callers of one batch often write again at once. Without this pause the first of them would start a batch of one.
    for (let i = 0; batch.length > 1 && i < MICROTASKS_TO_NEXT_CALL; i++) await Promise.resolve()
    for (const { conflictKey } of batch) queue.inFlight.delete(conflictKey)
    startBatches(queueKey, queue)
  }

  /** Takes the longest run of jobs from the front of the queue that may share a batch now. Jobs never overtake each other. */
  function takeBatch({ waiting, inFlight }: Queue<Job, Result>): QueuedJob<Job, Result>[] {
    const taken = new Set<string>()
    for (const { conflictKey } of waiting) {
      if (taken.size === maxBatchSize || taken.has(conflictKey) || inFlight.has(conflictKey)) break
      taken.add(conflictKey)
    }
    return waiting.splice(0, taken.size)
  }

  /** Runs a batch until every caller has an outcome. */
  async function settle(batch: readonly QueuedJob<Job, Result>[]): Promise<void> {
    let results: readonly PromiseSettledResult<Result>[]
    try {
      results = await run(batch.map(({ job }) => job))
      if (results.length !== batch.length) {
        throw new RangeError(`A batch of ${batch.length} jobs returned ${results.length} results.`)
      }
    } catch (error) {
      switch (batch.length > 1 ? recoveryFrom(error) : 'fail') {
        case 'fail':
          for (const { reject } of batch) reject(error)
          return
        case 'sequential':
          for (const each of batch) await settle([each])
          return
        case 'concurrent':
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
    run(queueKey, job) {
      return new Promise((resolve, reject) => {
        const conflictKey = conflictKeyOf(job)
        let queue = queues.get(queueKey)
        if (queue === undefined) queues.set(queueKey, (queue = { waiting: [], inFlight: new Set() }))
        queue.waiting.push({ job, conflictKey, resolve, reject })
        startBatches(queueKey, queue)
        if (queue.waiting.length > maxWaiting) queue.waiting.pop()!.reject(queueFull(maxWaiting))
      })
    },
    get busyQueues() {
      return queues.size
    },
  }
}

function queueFull(maxWaiting: number): StorageError {
  const message = `Too many writes of one scope: ${maxWaiting} are waiting already, so this one was not started.`
  return new StorageError('DATABASE_UNAVAILABLE', { message })
}
