import type { StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import type { Connection } from './database.js'
import { lostDecisions } from './decision-programs.js'
import { expectEveryEventDelivered, type EventCallers } from './event-test.js'
import { sumOfReports, type RaceReport, type RaceTask } from './race.js'
import { HOT_SCOPES, type ProgramName } from './programs.js'
import { startWorkers } from './workers.js'

export const PROCESSES = 4
export const CALLERS = 16
/** Successful calls of each process. */
const CALLS = 600
/** Fewer, because all of them change the same two sums. */
const CALLS_OF_QUOTA = 150
/** Refusals of each process in the races that are about them, and ended reservations of all. */
const REFUSALS = 50

/** The shared database of a race, and how the test accesses it. */
export interface RaceFixture {
  readonly connection: Connection
  /** Concurrent callers of each process. Default: 16. */
  readonly callers?: number
  /** Those of the race with events. Default: those of `expectEveryEventDelivered`. */
  readonly callersOfEvents?: EventCallers
  readonly open: (options?: {
    readonly now?: (() => Date) | undefined
    readonly events?: boolean
  }) => StorageObjectStore
  /** Returns rows that violate an invariant of the database. */
  readonly findViolations: () => Promise<readonly unknown[]>
}

/** Registers the races that every adapter over a server must pass. Each race calls `fixture` once. */
export function raceTests(fixture: () => RaceFixture): void {
  it('never exceeds a quota at its limit, and keeps every acknowledged write', async () => {
    const place = fixture()
    const store = place.open()
    const { bytes, files } = await watchedRace(place, 'quota', { calls: CALLS_OF_QUOTA, refusals: REFUSALS })
    const usages = await Promise.all(Object.keys(HOT_SCOPES).map((scope) => store.getScopeUsage(scope)))
    expect(usages.reduce((sum, usage) => sum + usage.bytes + usage.reservedBytes, 0)).toBe(bytes)
    expect(usages.reduce((sum, usage) => sum + usage.files + usage.reservedFiles, 0)).toBe(files)
  })

  it('never gives a key two owners', async () => {
    await watchedRace(fixture(), 'owners', { refusals: REFUSALS })
  })

  it('keeps the sums correct under all kinds of writes over few keys', async () => {
    await watchedRace(fixture(), 'mix')
  })

  it('ends an expired reservation once, by a confirm or a purge', async () => {
    const { ends } = await watchedRace(fixture(), 'expiry')
    expect(ends.length).toBeGreaterThan(REFUSALS)
    expect(new Set(ends).size).toBe(ends.length)
  })

  it.each(['ends', 'verdicts'] as const)('decides once what becomes of each object: %s', async (program) => {
    const place = fixture()
    const { ends, kept } = await watchedRace(place, program, { refusals: REFUSALS })
    expect(ends.length).toBeGreaterThan(REFUSALS)
    expect(kept.length).toBeGreaterThan(REFUSALS)
    expect(new Set(ends).size).toBe(ends.length)
    expect(new Set([...ends, ...kept]).size).toBe(ends.length + new Set(kept).size)
    expect(await lostDecisions(place.open(), kept)).toEqual([])
  })

  it('returns every acknowledged write', async () => {
    await watchedRace(fixture(), 'ledger')
  })

  it('delivers the events of all changes, in the order of each object', async () => {
    const { connection, callersOfEvents, open, findViolations } = fixture()
    await open({ events: true }).migrate()
    const { unavailable } = await expectEveryEventDelivered({
      connection,
      ...(callersOfEvents && { callers: callersOfEvents }),
      callsBetween: CALLS,
      interruptions: [],
      inspect: (use) => use({ open: (now) => open({ now }), findViolations }),
    })
    // As one text, because a failed comparison of lists can print no more than their lengths.
    expect(unavailable.join('\n')).toBe('')
  })
}

/** Runs a program in several processes until each has made enough calls. Expects no fault. */
export async function race(
  connection: Connection,
  program: ProgramName,
  { processes = PROCESSES, callers = CALLERS, calls = CALLS, refusals = 0, meanwhile = async () => {} } = {},
): Promise<RaceReport> {
  const entry = new URL('./race-worker.ts', import.meta.url)
  const task = { program, callers, connection }
  const workers = await startWorkers<RaceTask, RaceReport>(entry, processes, task)
  try {
    let isOver = false
    const racing = Promise.all([
      workers.untilMore('acknowledged', calls),
      workers.untilMore('refused', refusals),
    ]).finally(() => (isOver = true))
    // It is awaited below. Until then a failure must not count as an unhandled rejection.
    racing.catch(() => {})
    while (!isOver) {
      await meanwhile()
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    await racing
    const report = sumOfReports(await workers.finish())
    expect(report.faults).toEqual([])
    return report
  } finally {
    workers.stop()
  }
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

/** Checks the invariants during a race and afterwards. */
async function watchedRace(
  { connection, callers, open, findViolations }: RaceFixture,
  program: ProgramName,
  extent: { readonly calls?: number; readonly refusals?: number } = {},
): Promise<RaceReport> {
  const store = open()
  const meanwhile = async () => {
    expect(await findViolations()).toEqual([])
    await expectWithinQuotas(store)
  }
  const report = await race(connection, program, { ...extent, ...(callers && { callers }), meanwhile })
  await meanwhile()
  expect(await store.checkUsage()).toEqual([])
  return report
}
