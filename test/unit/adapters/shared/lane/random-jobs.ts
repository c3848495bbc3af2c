import fc from 'fast-check'
import { expect } from 'vitest'
import { createLane, HELD } from '../../../../../src/adapters/shared/lane/lane.js'
import type { Job } from '../../../../../src/adapters/shared/lane/waiting-jobs.js'
import { LOST_TURN, options, turn, UNDONE } from './groups-to-end.js'

interface RandomJob extends Job {
  readonly index: number
  /** What its group ends with, or what it ends with alone. */
  readonly outcome: 'done' | 'undone' | 'failed'
  /** How often a group with it loses its turn before it runs. */
  readonly losses: number
  /** How often its key is held before it runs. */
  readonly holds: number
  /** Whether it runs by itself when its key is free, instead of joining another group. */
  readonly runsHeld: boolean
}

const MAX_IN_FLIGHT = 2

const randomJobs = fc
  .array(
    fc.record({
      key: fc.nat(4).map((key) => `key ${key}`),
      scopes: fc.uniqueArray(fc.nat(3).map(String), { maxLength: 2 }),
      outcome: fc.constantFrom('done', 'done', 'done', 'undone', 'failed' as const),
      losses: fc.constantFrom(0, 0, 0, 1, 2),
      holds: fc.constantFrom(0, 0, 0, 1, 2),
      runsHeld: fc.boolean(),
    }),
    { maxLength: 25 },
  )
  .map((list) => list.map((job, index): RandomJob => ({ ...job, index })))

/** Adds jobs at random moments to lanes whose groups take random times. */
export async function checkRandomJobs(numRuns: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(randomJobs, fc.constantFrom('jobs', 'groups'), fc.scheduler(), checkJobs),
    { numRuns },
  )
}

async function checkJobs(list: readonly RandomJob[], counts: 'jobs' | 'groups', scheduler: fc.Scheduler) {
  const faults: string[] = []
  const arrived: RandomJob[] = []
  const groups: (readonly RandomJob[])[] = []
  const lost = new Map<RandomJob, number>()
  const held = new Map<RandomJob, number>()
  const waitingForKeys = new Set<RandomJob>()
  const undone = new Set<RandomJob>()
  const ended: RandomJob[] = []
  let isIdle = true

  const isInFlight = (job: RandomJob) =>
    groups.some((group) => group.includes(job)) || waitingForKeys.has(job)
  const share = (a: Job, b: Job) => a.scopes.some((scope) => b.scopes.includes(scope))

  /** Faults are collected, because an error thrown here would be that of a group. */
  function check(group: readonly RandomJob[]): void {
    const inFlight = groups.flat()
    const fault = (text: string) => faults.push(`${text}: ${group.map(({ index }) => index).join(' ')}`)
    const keys = [...group, ...inFlight, ...waitingForKeys].map(({ key }) => key)
    if (new Set(keys).size < keys.length) fault('two jobs of a key in flight')
    if (inFlight.some((other) => group.some((job) => share(job, other)))) fault('a scope of two groups')
    // Parts of a group that was undone run at once.
    if (group.some((job) => undone.has(job))) return
    const count = counts === 'jobs' ? inFlight.length : groups.filter(([job]) => !undone.has(job!)).length
    if (count >= MAX_IN_FLIGHT && !inFlight.some((job) => undone.has(job))) fault('a group that did not wait')
    for (const job of group) {
      for (const earlier of arrived.slice(0, arrived.indexOf(job))) {
        // One that was held joins others again some callbacks after its key was free.
        if (ended.includes(earlier) || isInFlight(earlier) || group.includes(earlier) || held.has(earlier))
          continue
        const before = arrived.slice(0, arrived.indexOf(earlier))
        const waitsForKey = before.some((other) => other.key === earlier.key && !ended.includes(other))
        if (!waitsForKey && share(job, earlier)) fault(`a job that passed ${earlier.index}`)
      }
    }
  }

  /** Returns the result of a job that ends. */
  function end(job: RandomJob): number {
    ended.push(job)
    if (job.outcome === 'failed') throw new Error(`failed: ${job.index}`)
    if (job.outcome === 'undone') throw UNDONE
    return job.index
  }

  const lane = createLane<RandomJob, number>({
    ...options,
    counts,
    pauseIfLost: (error) => (error === LOST_TURN ? scheduler.schedule(Promise.resolve()) : null),
    async run(group) {
      check(group)
      groups.push(group)
      await scheduler.schedule(Promise.resolve())
      groups.splice(groups.indexOf(group), 1)
      if (group.some((job) => job.losses > (lost.get(job) ?? 0))) {
        for (const job of group) lost.set(job, (lost.get(job) ?? 0) + 1)
        throw LOST_TURN
      }
      const isHeld = (job: RandomJob) => job.holds > (held.get(job) ?? 0)
      if (group.length > 1 && group.some((job) => job.outcome !== 'done' && !isHeld(job))) {
        for (const job of group) undone.add(job)
        throw UNDONE
      }
      return group.map((job) => (isHeld(job) ? HELD : end(job)))
    },
    async hold(job, holds) {
      if (holds !== (held.get(job) ?? 0)) faults.push(`holds of ${job.index}: ${holds}`)
      held.set(job, holds + 1)
      undone.delete(job)
      waitingForKeys.add(job)
      await scheduler.schedule(Promise.resolve())
      waitingForKeys.delete(job)
      return job.runsHeld ? { result: end(job) } : { again: job }
    },
    onIdle() {
      if (isIdle || ended.length < arrived.length) faults.push('not idle, or told twice')
      isIdle = true
    },
  })

  const calls: Promise<number>[] = []
  const arrivals = list.map((job) => () => {
    arrived.push(job)
    isIdle = false
    calls.push(lane.add(job))
    return Promise.resolve()
  })
  await scheduler.waitFor(scheduler.scheduleSequence(arrivals).task)
  const results = await scheduler.waitFor(Promise.allSettled(calls))
  await turn()

  expect(faults).toEqual([])
  results.forEach((result, index) => {
    const { outcome } = list[index]!
    if (outcome === 'done') expect(result).toEqual({ status: 'fulfilled', value: index })
    else
      expect(result).toMatchObject({ reason: outcome === 'undone' ? UNDONE : new Error(`failed: ${index}`) })
  })
  expect(ended.toSorted((a, b) => a.index - b.index)).toEqual(list)
  for (const { key } of list) {
    const ofKey = (job: RandomJob) => job.key === key
    expect(ended.filter(ofKey)).toEqual(list.filter(ofKey))
  }
  expect(isIdle).toBe(true)
}
