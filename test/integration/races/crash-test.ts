import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { differencesFrom, type CrashReport } from './crash-load.js'
import { startCrashRace, type CrashTask } from './crash-race.js'
import { expectNobodyOverQuota } from './hot-scopes.js'

export const CRASH_PROCESSES = 4
export const CRASH_CALLERS = 16

export interface CrashTest {
  /** File of the program of each process; it calls `serveAsCrashWorker`. */
  readonly entry: string
  readonly place: CrashTask['place']
  /** Done one after the other, each when every process has been told of `callsBetween` more calls that they succeeded. */
  readonly strikes: readonly (() => Promise<void>)[]
  readonly callsBetween: number
  /** A look at the place by somebody who comes anew. */
  readonly look: (
    use: (seen: { store: StorageObjectStore; wrongs: readonly unknown[] }) => Promise<void>,
  ) => Promise<void>
}

/**
 * Lets processes work on a server that is struck again and again. Nothing that was acknowledged may be lost, nobody may
 * have more than is allowed, and the sums must be right; afterwards every process must work as if nothing had been.
 */
export async function expectNothingLost(test: CrashTest): Promise<CrashReport> {
  const { entry, place, strikes, callsBetween, look } = test
  const nobodyHasTooMuch = () =>
    look(async ({ store, wrongs }) => {
      expect(wrongs).toEqual([])
      await expectNobodyOverQuota(store)
    })
  const race = await startCrashRace(entry, CRASH_PROCESSES, { callers: CRASH_CALLERS, place })
  try {
    for (const strike of strikes) {
      await race.untilAcknowledged(callsBetween)
      await strike()
      await nobodyHasTooMuch()
    }
    await race.untilAcknowledged(callsBetween)
    await nobodyHasTooMuch()
    const report = await race.finish()
    expect(report.faults).toEqual([])
    expect(new Set(report.ends).size).toBe(report.ends.length)
    expect(report.refused).toBeGreaterThan(0)
    expect(report.acknowledged).toBeGreaterThan(strikes.length * CRASH_PROCESSES * callsBetween)
    await nobodyHasTooMuch()
    await look(async ({ store }) => {
      expect(await differencesFrom(report.memories, store)).toEqual([])
      expect(await store.checkUsage()).toEqual([])
    })
    return report
  } finally {
    race.stop()
  }
}
