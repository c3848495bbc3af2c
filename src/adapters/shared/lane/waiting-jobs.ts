import { isNested } from './parts.js'

export interface Job {
  /** Jobs with the same key run in order, never together: two jobs on one object could undo each other. */
  readonly key: string
  /** Jobs with a scope in common run in one group or one after the other. */
  readonly scopes: readonly string[]
}

export interface Queued<J extends Job, Result> {
  job: J
  /** Its number in order of arrival. */
  readonly arrival: number
  /** The scope whose limit it counts towards. */
  readonly scope: string | undefined
  isWaiting: boolean
  /** Whether it must not start any more. */
  isEnded: boolean
  /** Whether no scope of others joins its own, because a group that needed more scopes was undone. */
  isNarrow: boolean
  /** Whether it runs by itself, because a group that it shared was undone. */
  isAlone: boolean
  /** How often its key was held. */
  holds: number
  readonly resolve: (result: Result) => void
  readonly reject: (reason: unknown) => void
}

/**
 * Decides which jobs run next. A job waits in the line of its key, where it keeps no others waiting, and then in those
 * of its scopes. It may run when it is the first in each, so no later job keeps one with two scopes waiting. The cost of
 * a job does not grow with the number of those that wait.
 */
export class WaitingJobs<J extends Job, Result> {
  /** The jobs of each key. Only the first can run, or was taken. */
  readonly #keys = new Map<string, Queued<J, Result>[]>()
  /** The jobs that wait for each scope and are the first of their keys. */
  readonly #scopes = new Map<string, Queued<J, Result>[]>()
  /** The scopes of jobs that were taken. */
  readonly #busy = new Set<string>()
  /** The first job of each free scope, and jobs without a scope. Some must still wait, or no longer do. */
  readonly #candidates: Queued<J, Result>[] = []
  readonly #counts = new Map<string | undefined, number>()

  get isEmpty(): boolean {
    return this.#keys.size === 0
  }

  /** Returns how many jobs count towards the limit of a scope. */
  count(scope: string | undefined): number {
    return this.#counts.get(scope) ?? 0
  }

  add(queued: Queued<J, Result>): void {
    const line = this.#keys.get(queued.job.key) ?? []
    this.#keys.set(queued.job.key, line)
    this.#counts.set(queued.scope, this.count(queued.scope) + 1)
    if (line.push(queued) === 1) this.wait(queued)
  }

  /** Lets the first job of a key wait for its scopes, before those that arrived later. */
  wait(queued: Queued<J, Result>): void {
    queued.isWaiting = true
    const { scopes } = queued.job
    if (scopes.length === 0) insert(this.#candidates, queued)
    for (const scope of scopes) {
      const line = this.#scopes.get(scope) ?? []
      this.#scopes.set(scope, line)
      insert(line, queued)
      this.#findCandidate(scope)
    }
  }

  /** Takes the first jobs that may run together. Their scopes and keys are busy until they are freed and removed. */
  take(max: number): readonly Queued<J, Result>[] {
    const group: Queued<J, Result>[] = []
    for (let next; group.length < max && (next = this.#candidates[0]) !== undefined;) {
      const isNext = this.#isNext(next)
      if (isNext && group.length > 0 && !mayJoin(group, next)) break
      this.#candidates.shift()
      if (!isNext) continue
      this.#leaveScopes(next)
      group.push(next)
      if (next.isAlone) break
    }
    for (const { job } of group) for (const scope of job.scopes) this.#busy.add(scope)
    return group
  }

  freeScopes(scopes: readonly string[]): void {
    for (const scope of scopes) this.#busy.delete(scope)
    for (const scope of scopes) this.#findCandidate(scope)
  }

  /** Removes the first job of a key. */
  remove({ job: { key }, scope }: Queued<J, Result>): void {
    const line = this.#keys.get(key)!
    line.shift()
    if (line[0] === undefined) this.#keys.delete(key)
    else this.wait(line[0])
    const count = this.count(scope) - 1
    if (count > 0) this.#counts.set(scope, count)
    else this.#counts.delete(scope)
  }

  /** Ends jobs. Those that wait in the line of a key are ended when they are its first. Returns all. */
  end(select: (job: J) => boolean): readonly Queued<J, Result>[] {
    const ended = [...this.#keys.values()].flat().filter(({ job }) => select(job))
    for (const queued of ended) queued.isEnded = true
    for (const queued of ended) {
      if (!queued.isWaiting) continue
      this.#leaveScopes(queued)
      this.remove(queued)
    }
    return ended
  }

  #isNext(queued: Queued<J, Result>): boolean {
    const isFirst = (scope: string) => !this.#busy.has(scope) && this.#scopes.get(scope)?.[0] === queued
    return queued.isWaiting && queued.job.scopes.every(isFirst)
  }

  #leaveScopes(queued: Queued<J, Result>): void {
    queued.isWaiting = false
    for (const scope of new Set(queued.job.scopes)) {
      const line = this.#scopes.get(scope)!
      // Unlike `splice`, `shift` moves no other jobs.
      if (line[0] === queued) line.shift()
      else line.splice(line.indexOf(queued), 1)
      if (line.length === 0) this.#scopes.delete(scope)
      this.#findCandidate(scope)
    }
  }

  #findCandidate(scope: string): void {
    const first = this.#scopes.get(scope)?.[0]
    if (first !== undefined && !this.#busy.has(scope)) insert(this.#candidates, first)
  }
}

function mayJoin<J extends Job, Result>(
  group: readonly Queued<J, Result>[],
  next: Queued<J, Result>,
): boolean {
  if (next.isAlone) return false
  const isNarrow = next.isNarrow || group.some((queued) => queued.isNarrow)
  return !isNarrow || isNested([...group, next].map(({ job }) => job))
}

/** Inserts a job in order of arrival, unless it is there. */
function insert<Q extends { readonly arrival: number }>(line: Q[], queued: Q): void {
  let from = 0
  for (let to = line.length; from < to;) {
    const middle = (from + to) >> 1
    if (line[middle]!.arrival < queued.arrival) from = middle + 1
    else to = middle
  }
  if (line[from] !== queued) line.splice(from, 0, queued)
}
