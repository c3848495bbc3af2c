import { detached } from '../../../core/detached.js'
import { StorageError } from '../../../core/errors.js'
import { isNested, partsOf } from './parts.js'
import { type Job, type Queued, WaitingJobs } from './waiting-jobs.js'

const MAX_GROUP = 64
/** Once this many jobs or groups are in flight, further jobs wait and share the next group. */
const MAX_IN_FLIGHT = 2
/** Jobs of one scope that may wait, those in flight included. */
const MAX_WAITING = 10_000

/** The result of a job that had no effect because a writer outside the lane holds its key. */
export const HELD = Symbol('held')

export interface LaneOptions<J extends Job, Result> {
  /** Runs a group, which may be one job. Returns the results in the same order. */
  readonly run: (jobs: readonly J[]) => Promise<readonly (Result | typeof HELD)[]>
  /** Returns the error of a job that has waited too long to start, otherwise `null`. */
  readonly tooLate: (job: J) => Error | null
  /** Returns whether a group of two or more that failed with this error had no effect, so that parts of it can run. */
  readonly wasUndone: (error: unknown) => boolean
  /**
   * Returns a pause after which jobs that failed with this error, and had no effect, wait again together, so that those
   * that arrived meanwhile can join. Returns `null` for other errors. Meanwhile, only their scopes and keys are busy.
   */
  readonly pauseIfLost?: (error: unknown, jobs: readonly J[]) => Promise<unknown> | null
  /**
   * Waits for the key of a job that was held this many times before. Returns the job to run again, or its result.
   * Meanwhile, only jobs with the same key wait.
   */
  readonly hold: (job: J, holds: number) => Promise<{ readonly again: J } | { readonly result: Result }>
  /** What is counted as in flight. */
  readonly counts: 'jobs' | 'groups'
  /** Returns whether a second job or group may start beside one that is in flight. Default: it may. */
  readonly mayShare?: () => boolean
  /** Waits until callers who were just answered can have written again. Otherwise, the first would start alone. */
  readonly untilNextCalls: () => Promise<unknown>
  /** Milliseconds after which a group, which may be blocked or without a response, is no longer counted. */
  readonly patience?: number
  /** Is called when no job is left, neither waiting nor in flight. */
  readonly onIdle?: () => void
}

/** Why jobs are not settled. */
interface Unsettled {
  readonly isUndone?: true
  /** The pause of jobs that lost their turn. */
  readonly pause?: Promise<unknown>
}

/**
 * Creates a lane of writes. A round trip and a commit cost about the same for one write as for many, so a job starts at
 * once, in the same tick, while fewer than two are in flight. Later ones wait for one to end, and those whose keys and
 * scopes are then free share the next group.
 */
export function createLane<J extends Job, Result>(options: LaneOptions<J, Result>) {
  type Each = Queued<J, Result>
  const { run, tooLate, wasUndone, pauseIfLost, hold, counts, mayShare, untilNextCalls, patience, onIdle } =
    options
  const jobs = new WaitingJobs<J, Result>()
  let arrivals = 0
  let inFlight = 0

  function start(): void {
    while (inFlight < MAX_IN_FLIGHT && (inFlight === 0 || mayShare?.() !== false)) {
      const group = jobs.take(MAX_GROUP)
      if (group.length === 0) return
      void runGroup(group)
    }
  }

  /** Starts jobs that waited, in the context of no other caller. */
  function startNext(): void {
    if (inFlight === 0 && jobs.isEmpty) onIdle?.()
    else if (inFlight < MAX_IN_FLIGHT) detached(start)
  }

  async function runGroup(group: readonly Each[]): Promise<void> {
    let count = counts === 'jobs' ? group.length : 1
    inFlight += count
    const stopCounting = () => {
      inFlight -= count
      count = 0
      startNext()
    }
    const timer = patience === undefined ? undefined : setTimeout(stopCounting, patience)
    await runPart(group)
    clearTimeout(timer)
    stopCounting()
  }

  /**
   * Runs jobs and frees their scopes. If they were undone, their parts that share no scope run at once. The jobs of a
   * single part wait again, each to run without the scopes of others, or else by itself.
   */
  async function runPart(part: readonly Each[]): Promise<void> {
    const { isUndone, pause } = await settle(part)
    if (isUndone) {
      const parts = partsOf(part, ({ job }) => job.scopes)
      if (parts.length > 1) return void (await Promise.all(parts.map(runPart)))
      // One of them may be held. Each further group that it shared would be undone too.
      const limit = isNested(part.map(({ job }) => job)) ? 'isAlone' : 'isNarrow'
      for (const queued of part) queued[limit] = true
    }
    const goOn = () => {
      if (isUndone || pause) for (const queued of part) jobs.wait(queued)
      jobs.freeScopes(part.flatMap(({ job }) => job.scopes))
      startNext()
    }
    // The caller does not wait, so the group no longer counts as in flight.
    if (pause) void pause.then(goOn)
    else goOn()
  }

  /** Runs jobs until each is settled or held, unless they were undone or have to pause. */
  async function settle(group: readonly Each[]): Promise<Unsettled> {
    const open = group.filter(mayStart)
    const opened = open.map(({ job }) => job)
    let held: readonly Each[] = []
    const withoutEffect = (error: unknown): Unsettled => {
      const pause = pauseIfLost?.(error, opened) ?? null
      if (pause) return { pause }
      if (open.length > 1 && wasUndone(error)) return { isUndone: true }
      throw error
    }
    try {
      const results = open.length > 0 ? await run(opened).catch(withoutEffect) : []
      if (!('length' in results)) return results
      held = open.filter((_, index) => results[index] === HELD)
      open.forEach(({ resolve }, index) => {
        const result = results[index]!
        if (result !== HELD) resolve(result)
      })
    } catch (error) {
      for (const { reject } of open) reject(error)
    }
    if (open.length > 1) await untilNextCalls()
    for (const queued of group) {
      if (held.includes(queued)) void settleHeld(queued)
      else jobs.remove(queued)
    }
    return {}
  }

  function mayStart({ job, isEnded, reject }: Each): boolean {
    const error = tooLate(job)
    if (error !== null) reject(error)
    return error === null && !isEnded
  }

  async function settleHeld(queued: Each): Promise<void> {
    try {
      const outcome = await hold(queued.job, queued.holds++)
      if ('again' in outcome) {
        queued.job = outcome.again
        jobs.wait(queued)
        return startNext()
      }
      queued.resolve(outcome.result)
    } catch (error) {
      queued.reject(error)
    }
    jobs.remove(queued)
    startNext()
  }

  return {
    /** Runs a job and settles with its own result. */
    add: (job: J) =>
      new Promise<Result>((resolve, reject) => {
        const [scope] = job.scopes
        if (jobs.count(scope) >= MAX_WAITING) {
          const message = `Too many writes of one scope: ${MAX_WAITING} are waiting already, so this one was not started.`
          return reject(new StorageError('DATABASE_UNAVAILABLE', { message }))
        }
        // Written out, because V8 takes microseconds to spread fields.
        jobs.add({
          job,
          scope,
          arrival: arrivals++,
          isWaiting: false,
          isEnded: false,
          isNarrow: false,
          isAlone: false,
          holds: 0,
          resolve,
          reject,
        })
        start()
      }),

    /** Ends jobs with this result. Those that wait never run; the caller undoes the effect of those in flight. */
    end(select: (job: J) => boolean, result: Result): void {
      for (const { resolve } of jobs.end(select)) resolve(result)
      startNext()
    },
  }
}
