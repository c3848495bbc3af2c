import { detached } from '../../../core/detached.js'
import { StorageError } from '../../../core/errors.js'
import { backOff } from '../connection/deadline.js'

/** Transactions in flight from which on further jobs wait and share the next one. */
const MAX_IN_FLIGHT = 2
const MAX_JOBS = 64
/** Jobs of one scope that may wait. */
const MAX_WAITING = 10_000

/** Milliseconds after which a transaction, which may be blocked or without a response, keeps no others waiting. */
const PATIENCE = 100

export interface Job {
  /** Jobs with the same key run in order, never in one transaction. */
  readonly key: string
  /** Jobs with a scope in common run in one transaction or one after the other. */
  readonly scopes: readonly string[]
}

export interface QueueOptions<J extends Job, Result> {
  /** Runs jobs in one transaction. Returns their results in the same order. */
  readonly run: (jobs: readonly J[]) => Promise<readonly Result[]>
  /** Returns whether a transaction that failed with this error had no effect, so that parts of it can run. */
  readonly wasUndone: (error: unknown) => boolean
  /** Returns the job to run in place of one that failed alone because its key is held, otherwise `null`. */
  readonly again: (job: J, error: unknown) => J | null
}

interface Queued<J extends Job, Result> {
  job: J
  /** Whether it runs in a transaction of its own, because one that it shared was undone. */
  isAlone: boolean
  /** How often its key was held. */
  holds: number
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Creates the queue of all writes. A commit costs about the same for one write as for many, and of two transactions
 * that write the same document the server undoes one. So a job starts at once while fewer than two are in flight. Later
 * ones wait for one to end, and those whose keys and scopes are then free share the next.
 */
export function createQueue<J extends Job, Result>({ run, wasUndone, again }: QueueOptions<J, Result>) {
  type Jobs = readonly Queued<J, Result>[]
  /** In order of arrival. */
  let waiting: Queued<J, Result>[] = []
  /** Keys and scopes of the jobs in flight. No key equals a scope, because keys contain NUL. */
  const busy = new Set<string>()
  const running = new Set<Queued<J, Result>>()
  let inFlight = 0

  function start(): void {
    while (inFlight < MAX_IN_FLIGHT) {
      const group = take()
      if (group.length === 0) return
      void runGroup(group)
    }
  }

  /** Starts jobs that waited, which are those of other callers. */
  const startNext = () => detached(start)

  /** Takes the first jobs that may share a transaction now. */
  function take(): Jobs {
    const group: Queued<J, Result>[] = []
    const taken = new Set(busy)
    waiting = waiting.filter((queued) => {
      const { key, scopes } = queued.job
      const isFull = group.length === MAX_JOBS || group.some(({ isAlone }) => isAlone)
      const isKeyFree = !taken.has(key)
      const areScopesFree = !scopes.some((scope) => taken.has(scope))
      const fits = !isFull && isKeyFree && areScopesFree && !(queued.isAlone && group.length > 0)
      taken.add(key)
      if (fits) group.push(queued)
      // Later jobs must not keep a job with two scopes waiting. One that waits for its key keeps nobody waiting.
      else if (isKeyFree) for (const scope of scopes) taken.add(scope)
      return !fits
    })
    for (const queued of group) {
      for (const name of [queued.job.key, ...queued.job.scopes]) busy.add(name)
      running.add(queued)
    }
    return group
  }

  async function runGroup(group: Jobs): Promise<void> {
    inFlight++
    let isCounted = true
    const stopCounting = () => {
      if (isCounted) inFlight--
      isCounted = false
      startNext()
    }
    const timer = setTimeout(stopCounting, PATIENCE)
    await settle(group)
    clearTimeout(timer)
    stopCounting()
  }

  async function settle(group: Jobs): Promise<void> {
    try {
      const results = await run(group.map(({ job }) => job))
      group.forEach(({ resolve }, index) => resolve(results[index]!))
      // Callers who were just answered often write again at once. Otherwise, the first of them would start alone.
      if (group.length > 1) await new Promise((resolve) => setImmediate(resolve))
    } catch (error) {
      if (group.length > 1 && wasUndone(error)) return settleParts(group)
      const next = group.length === 1 ? again(group[0]!.job, error) : null
      if (next !== null) return hold(group[0]!, next)
      for (const { reject } of group) reject(error)
    }
    free(group)
  }

  /** Runs the parts of a group that share no scope at once, or the jobs of a single part one after the other. */
  async function settleParts(group: Jobs): Promise<void> {
    const parts = partsOf(group, ({ job }) => job.scopes)
    if (parts.length > 1) {
      await Promise.all(parts.map(settle))
    } else {
      for (const queued of group) queued.isAlone = true
      waiting.unshift(...group)
      free(group)
    }
  }

  /** Runs a job again after a pause. Until then, only jobs with its key wait. */
  function hold(queued: Queued<J, Result>, next: J): void {
    const { key, scopes } = queued.job
    for (const scope of scopes) busy.delete(scope)
    running.delete(queued)
    queued.job = next
    startNext()
    void backOff(queued.holds++).then(() => {
      busy.delete(key)
      waiting.unshift(queued)
      startNext()
    })
  }

  function free(group: Jobs): void {
    for (const queued of group) {
      for (const name of [queued.job.key, ...queued.job.scopes]) busy.delete(name)
      running.delete(queued)
    }
    startNext()
  }

  return {
    add: (job: J) =>
      new Promise<Result>((resolve, reject) => {
        const isOfScope = (other: Queued<J, Result>) => other.job.scopes[0] === job.scopes[0]
        if (waiting.length >= MAX_WAITING && waiting.filter(isOfScope).length >= MAX_WAITING) {
          return reject(queueFull())
        }
        waiting.push({ job, isAlone: false, holds: 0, resolve, reject })
        start()
      }),

    /** Ends jobs with this result. Those that wait never run; the caller undoes the effect of those in flight. */
    end(select: (job: J) => boolean, result: Result): void {
      for (const { job, resolve } of [...waiting, ...running]) if (select(job)) resolve(result)
      waiting = waiting.filter(({ job }) => !select(job))
    },
  }
}

/** Returns the parts of a group that share no scope. */
export function partsOf<T>(group: readonly T[], scopesOf: (item: T) => readonly string[]): T[][] {
  let parts: T[][] = []
  for (const item of group) {
    const scopes = scopesOf(item)
    const sharesScope = (part: readonly T[]) => part.flatMap(scopesOf).some((scope) => scopes.includes(scope))
    const joined = parts.filter(sharesScope)
    parts = [...parts.filter((part) => !joined.includes(part)), [...joined.flat(), item]]
  }
  return parts
}

function queueFull(): StorageError {
  const message = `Too many writes of one scope: ${MAX_WAITING} are waiting already, so this one was not started.`
  return new StorageError('DATABASE_UNAVAILABLE', { message })
}
