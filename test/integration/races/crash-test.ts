import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { differencesFrom, type CrashReport } from './crash-load.js'
import { startCrashRace, type CrashTask } from './crash-race.js'
import { expectWithinQuotas } from './race-tests.js'

export const CRASH_PROCESSES = 4
export const CRASH_CALLERS = 16

export interface CrashTest {
  /** The program of each process, which calls `serveAsCrashWorker`. */
  readonly entry: string
  readonly connection: CrashTask['connection']
  /** Run one after the other, each after `callsBetween` more calls have succeeded in every process. */
  readonly outages: readonly (() => Promise<void>)[]
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
export async function expectNothingLost(test: CrashTest): Promise<CrashReport> {
  const { entry, connection, outages, callsBetween, inspect } = test
  const expectInvariants = () =>
    inspect(async ({ store, violations }) => {
      expect(violations).toEqual([])
      await expectWithinQuotas(store)
    })
  const race = await startCrashRace(entry, CRASH_PROCESSES, { callers: CRASH_CALLERS, connection })
  try {
    for (const outage of outages) {
      await race.untilAcknowledged(callsBetween)
      await outage()
      await expectInvariants()
    }
    await race.untilAcknowledged(callsBetween)
    await expectInvariants()
    const report = await race.finish()
    expect(report.faults).toEqual([])
    expect(new Set(report.ends).size).toBe(report.ends.length)
    expect(report.refused).toBeGreaterThan(0)
    expect(report.acknowledged).toBeGreaterThan(outages.length * CRASH_PROCESSES * callsBetween)
    await expectInvariants()
    await inspect(async ({ store }) => {
      expect(await differencesFrom(report.memories, store)).toEqual([])
      expect(await store.checkUsage()).toEqual([])
    })
    return report
  } finally {
    race.stop()
  }
}
