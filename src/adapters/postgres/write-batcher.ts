import { detached } from '../../core/detached.js'
import { StorageError } from '../../core/errors.js'
import { TIME_LIMIT } from './connection/retries.js'

/** Milliseconds after which a further job whose key is held joins another batch. */
const HELD_PAUSE = 100
/** Microtasks to wait so that callers who were just answered can join the next batch. */
const MICROTASKS_TO_NEXT_CALL = 8

export interface WriteBatcherOptions<Job, Result> {
  /** Runs a batch, which may be one job. Returns each result, in order, or `null` if another writer holds its key. */
  readonly run: (jobs: readonly Job[]) => Promise<readonly (Result | null)[]>
  /** Runs a job whose key was held. Waits until the key is free. */
  readonly runHeld: (job: Job) => Promise<Result>
  /**
   * Returns the conflict key of a job. Jobs of one queue with the same key run in order, never together: two jobs on
   * one object could undo each other, and a repeated batch must have the effect of the first try.
   */
  readonly conflictKeyOf: (job: Job) => string
  /**
   * Returns whether a batch of two or more that was rejected with this error had no effect. Each of its jobs then runs
   * alone, so that a slow one delays no other. Otherwise, every job gets the error.
   */
  readonly wasUndone: (error: unknown) => boolean
  /** Maximum jobs in a batch. Default 64. */
  readonly maxBatchSize?: number
  /** Once this many jobs of a queue are in flight, later ones wait for the next batch. Default 1. */
  readonly batchThreshold?: number
  /** Maximum jobs of all queues that wait for held keys, because each may take a connection. Default 4. */
  readonly maxHeld?: number
  /** Maximum waiting jobs in one queue. Further jobs are rejected with `DATABASE_UNAVAILABLE`. Default 10,000. */
  readonly maxWaiting?: number
}

interface Queue<Job, Result> {
  waiting: QueuedJob<Job, Result>[]
  inFlight: number
  /** Conflict keys of jobs that are in a batch or held. Later jobs with the same key wait for them. */
  readonly busy: Set<string>
}

interface QueuedJob<Job, Result> {
  readonly job: Job
  readonly conflictKey: string
  /** When it arrived, in milliseconds. */
  readonly since: number
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Batches the jobs of each queue: while some are in flight, arriving jobs form the next batch. A job that arrives at an
 * idle queue starts in the same tick. A conflict key that is held delays only its own jobs.
 */
export function createWriteBatcher<Job, Result>(options: WriteBatcherOptions<Job, Result>) {
  type Jobs = Queue<Job, Result>
  type Queued = QueuedJob<Job, Result>
  const { run, runHeld, conflictKeyOf, wasUndone } = options
  const { maxBatchSize = 64, batchThreshold = 1, maxHeld = 4, maxWaiting = 10_000 } = options
  const queues = new Map<string, Jobs>()
  let held = 0

  function startBatches(queueKey: string, queue: Jobs): void {
    while (queue.inFlight < batchThreshold) {
      const batch = takeBatch(queue)
      if (batch.length === 0) break
      void runBatch(queueKey, queue, batch)
    }
    if (queue.busy.size === 0) queues.delete(queueKey)
  }

  /** Starts jobs that waited, in the context of no other caller. */
  const startNext: typeof startBatches = (...queue) => detached(() => startBatches(...queue))

  /** Takes the first jobs that may share a batch. Ends those that have waited for as long as one without a response. */
  function takeBatch(queue: Jobs): Queued[] {
    const batch: Queued[] = []
    const seen = new Set(queue.busy)
    const earliest = performance.now() - TIME_LIMIT
    queue.waiting = queue.waiting.filter((queued) => {
      if (queued.since <= earliest) return queued.reject(waitedTooLong())
      const isTaken = batch.length < maxBatchSize && !seen.has(queued.conflictKey)
      seen.add(queued.conflictKey)
      if (isTaken) batch.push(queued)
      return !isTaken
    })
    return batch
  }

  async function runBatch(queueKey: string, queue: Jobs, batch: readonly Queued[]): Promise<void> {
    queue.inFlight += batch.length
    for (const { conflictKey } of batch) queue.busy.add(conflictKey)
    const heldJobs = new Set<Queued>()
    try {
      await settle(batch, heldJobs)
    } catch (error) {
      // `wasUndone` threw. The queue must go on, and no caller may wait for ever.
      for (const { reject } of batch) reject(error)
    }
    // Callers of one batch often write again at once. Without this pause, the first would start a batch of one.
    for (let i = 0; batch.length > 1 && i < MICROTASKS_TO_NEXT_CALL; i++) await Promise.resolve()
    queue.inFlight -= batch.length
    for (const queued of batch) {
      if (heldJobs.has(queued)) void settleHeld(queueKey, queue, queued)
      else queue.busy.delete(queued.conflictKey)
    }
    startNext(queueKey, queue)
  }

  /** Runs a batch until every job is settled or was found to be held. */
  async function settle(batch: readonly Queued[], heldJobs: Set<Queued>): Promise<void> {
    try {
      const results = await run(batch.map(({ job }) => job))
      batch.forEach((queued, index) => {
        const result = results[index] ?? null
        if (result === null) heldJobs.add(queued)
        else queued.resolve(result)
      })
    } catch (error) {
      if (batch.length > 1 && wasUndone(error)) {
        await Promise.all(batch.map((each) => settle([each], heldJobs)))
      } else {
        for (const { reject } of batch) reject(error)
      }
    }
  }

  /** Waits for the key of a job. If too many jobs do already, this one joins another batch later. */
  async function settleHeld(queueKey: string, queue: Jobs, queued: Queued): Promise<void> {
    if (held < maxHeld) {
      held++
      await runHeld(queued.job).then(queued.resolve, queued.reject)
      held--
    } else {
      await new Promise((resolve) => setTimeout(resolve, HELD_PAUSE))
      queue.waiting.unshift(queued)
    }
    queue.busy.delete(queued.conflictKey)
    startNext(queueKey, queue)
  }

  return {
    /** Runs the job in the queue of `queueKey` and settles with the job's own result. */
    run(queueKey: string, job: Job): Promise<Result> {
      return new Promise((resolve, reject) => {
        const conflictKey = conflictKeyOf(job)
        let queue = queues.get(queueKey)
        if (queue === undefined) queues.set(queueKey, (queue = { waiting: [], inFlight: 0, busy: new Set() }))
        queue.waiting.push({ job, conflictKey, since: performance.now(), resolve, reject })
        startBatches(queueKey, queue)
        if (queue.waiting.length > maxWaiting) queue.waiting.pop()!.reject(queueFull(maxWaiting))
      })
    },
    /** Number of queues with a batch in flight. Idle queues take no memory. */
    get busyQueues(): number {
      return queues.size
    },
  }
}

function queueFull(maxWaiting: number): StorageError {
  const message = `Too many writes of one scope: ${maxWaiting} are waiting already, so this one was not started.`
  return new StorageError('DATABASE_UNAVAILABLE', { message })
}

function waitedTooLong(): StorageError {
  const message = `Earlier writes of the scope took longer than ${TIME_LIMIT / 1000} s, so this one was not started.`
  return new StorageError('DATABASE_UNAVAILABLE', { message })
}
