import type { StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { emptyReport, sumOfReports, type RaceReport, type RaceTask } from './race.js'
import { HOT_SCOPES, type ProgramName } from './programs.js'
import type { RaceProcesses } from './run-race.js'

export const PROCESSES = 4
export const CALLERS = 16
const MILLISECONDS = 2500
/** Minimum number of the events that a race is about. */
const MIN_EVENTS = 100

/** The shared database of a race, and how the test accesses it. */
export interface RaceFixture {
  readonly processes: RaceProcesses
  readonly connection: RaceTask['connection']
  readonly store: StorageObjectStore
  /** Returns rows that violate an invariant of the database. */
  readonly findViolations: () => Promise<readonly unknown[]>
}

/** Registers the races that every adapter over a server must pass. Each race calls `fixture` once. */
export function raceTests(fixture: () => RaceFixture): void {
  it('never exceeds a quota at its limit, and keeps every acknowledged write', async () => {
    const { store, ...more } = fixture()
    const { bytes, files } = await watchedRace(
      { store, ...more },
      'quota',
      ({ refused }) => refused > MIN_EVENTS,
    )
    const usages = await Promise.all(Object.keys(HOT_SCOPES).map((scope) => store.getScopeUsage(scope)))
    expect(usages.reduce((sum, usage) => sum + usage.bytes + usage.reservedBytes, 0)).toBe(bytes)
    expect(usages.reduce((sum, usage) => sum + usage.files + usage.reservedFiles, 0)).toBe(files)
  })

  it('never gives a key two owners', async () => {
    await watchedRace(fixture(), 'owners', ({ refused }) => refused > MIN_EVENTS)
  })

  it('keeps the sums correct under all kinds of writes over few keys', async () => {
    await watchedRace(fixture(), 'mix', ({ acknowledged }) => acknowledged > MIN_EVENTS)
  })

  it('ends an expired reservation once, by a confirm or a purge', async () => {
    const { ends } = await watchedRace(fixture(), 'expiry', ({ ends }) => ends.length > MIN_EVENTS)
    expect(new Set(ends).size).toBe(ends.length)
  })

  it('returns every acknowledged write', async () => {
    await watchedRace(fixture(), 'ledger', ({ acknowledged }) => acknowledged > MIN_EVENTS)
  })
}

/** Checks that no shared scope exceeds its limits. */
export async function expectWithinQuotas(store: StorageObjectStore): Promise<void> {
  for (const [scope, limits] of Object.entries(HOT_SCOPES)) {
    const { bytes, files, reservedBytes, reservedFiles } = await store.getScopeUsage(scope)
    const { maxBytes, maxFiles } = { maxBytes: Infinity, maxFiles: Infinity, ...limits }
    expect(bytes + reservedBytes).toBeLessThanOrEqual(maxBytes)
    expect(files + reservedFiles).toBeLessThanOrEqual(maxFiles)
  }
}

/**
 * Repeats a race until enough events have happened, because a busy machine is slower. Checks the invariants during the
 * race and afterwards.
 */
async function watchedRace(
  { processes, connection, store, findViolations }: RaceFixture,
  program: ProgramName,
  isEnough: (report: RaceReport) => boolean,
): Promise<RaceReport> {
  let sum = emptyReport()
  do {
    let isOver = false
    const round = processes
      .race(PROCESSES, { program, callers: CALLERS, milliseconds: MILLISECONDS, connection })
      .finally(() => (isOver = true))
    // It is awaited below. Until then a failure must not count as an unhandled rejection.
    round.catch(() => {})
    while (!isOver) {
      expect(await findViolations()).toEqual([])
      await expectWithinQuotas(store)
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    sum = sumOfReports([sum, await round])
    expect(sum.faults).toEqual([])
  } while (!isEnough(sum))
  expect(await findViolations()).toEqual([])
  expect(await store.checkUsage()).toEqual([])
  return sum
}
