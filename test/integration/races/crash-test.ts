import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { differencesFrom, type CrashReport, type CrashTask } from './crash-load.js'
import { sumOfReports } from './race.js'
import { expectWithinQuotas } from './race-tests.js'
import { startWorkers } from './workers.js'

export const CRASH_PROCESSES = 4
export const CRASH_CALLERS = 16

export interface CrashTest {
  readonly connection: CrashTask['connection']
  /** Run one after the other with the ids of the processes, each after `callsBetween` more calls have succeeded in every process. */
  readonly outages: Iterable<(processes: readonly number[]) => Promise<void>>
  readonly callsBetween: number
  /** Inspects the database over a new connection. */
  readonly inspect: (
    use: (seen: { store: StorageObjectStore; violations: readonly unknown[] }) => Promise<void>,
  ) => Promise<void>
}

/**
 * Runs worker processes on a server with repeated outages. No acknowledged write may be lost, no quota exceeded, and
 * the sums must be correct. Every process must recover after each outage.
 */
export async function expectNothingLost(
  test: CrashTest,
): Promise<{ readonly unavailable: readonly string[] }> {
  const { connection, outages, callsBetween, inspect } = test
  const expectInvariants = () =>
    inspect(async ({ store, violations }) => {
      expect(violations).toEqual([])
      await expectWithinQuotas(store)
    })
  const entry = new URL('./crash-worker.ts', import.meta.url)
  const task = { callers: CRASH_CALLERS, connection }
  const workers = await startWorkers<CrashTask, CrashReport>(entry, CRASH_PROCESSES, task)
  try {
    let rounds = 0
    for (const outage of outages) {
      rounds++
      await workers.untilMore('acknowledged', callsBetween)
      await outage(workers.pids())
      await expectInvariants()
    }
    await workers.untilMore('acknowledged', callsBetween)
    await expectInvariants()
    const reports = await workers.finish()
    const report = sumOfReports(reports)
    expect(report.faults).toEqual([])
    expect(new Set(report.ends).size).toBe(report.ends.length)
    expect(report.refused).toBeGreaterThan(0)
    expect(report.acknowledged).toBeGreaterThan(rounds * CRASH_PROCESSES * callsBetween)
    await expectInvariants()
    const memories = reports.flatMap(({ memories }) => memories)
    await inspect(async ({ store }) => {
      expect(await differencesFrom(memories, store)).toEqual([])
      expect(await store.checkUsage()).toEqual([])
    })
    return { unavailable: reports.flatMap(({ unavailable }) => unavailable) }
  } finally {
    workers.stop()
  }
}
