import type { StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { expectNobodyOverQuota } from './hot-scopes.js'
import { emptyReport, sumOfReports, type RaceReport, type RaceTask } from './race.js'
import { HOT_SCOPES, type ProgramName } from './programs.js'
import type { RaceProcesses } from './run-race.js'

export const PROCESSES = 4
export const CALLERS = 16
const MILLISECONDS = 2500
/** Of whatever a race is about. */
const ENOUGH = 100
const TIMEOUT = 90_000

/** The place that the processes of a race share, as the test itself sees it. */
export interface RaceGround {
  readonly processes: RaceProcesses
  readonly place: RaceTask['place']
  readonly store: StorageObjectStore
  /** What nobody may ever see in the database; empty where all is well. */
  readonly wrongs: () => Promise<readonly unknown[]>
}

/** Registers the races that every adapter over a server must stand. `ground` is asked anew by each. */
export function raceTests(ground: () => RaceGround): void {
  const options = { timeout: TIMEOUT }
  it(
    'at the edge of a quota nothing is over it, and all that was acknowledged is there',
    options,
    async () => {
      const { store, ...more } = ground()
      const { bytes, files } = await watchedRace(
        { store, ...more },
        'quota',
        ({ refused }) => refused > ENOUGH,
      )
      const usages = await Promise.all(Object.keys(HOT_SCOPES).map((scope) => store.getScopeUsage(scope)))
      expect(usages.reduce((sum, usage) => sum + usage.bytes + usage.reservedBytes, 0)).toBe(bytes)
      expect(usages.reduce((sum, usage) => sum + usage.files + usage.reservedFiles, 0)).toBe(files)
    },
  )

  it('a key never has two owners', options, async () => {
    await watchedRace(ground(), 'owners', ({ refused }) => refused > ENOUGH)
  })

  it('all kinds of writes over the same few keys leave the sums right', options, async () => {
    await watchedRace(ground(), 'mix', ({ acknowledged }) => acknowledged > ENOUGH)
  })

  it('a lapsed reservation is either confirmed or purged, and by one call', options, async () => {
    const { ends } = await watchedRace(ground(), 'lapses', ({ ends }) => ends.length > ENOUGH)
    expect(new Set(ends).size).toBe(ends.length)
  })

  it('what was acknowledged can be read back', options, async () => {
    await watchedRace(ground(), 'ledger', ({ acknowledged }) => acknowledged > ENOUGH)
  })
}

/**
 * Runs races over the same ground until enough of what they are about has happened, which a busy machine needs more
 * time for, and looks on meanwhile; the faults that nobody may see, then or afterwards, are none.
 */
async function watchedRace(
  { processes, place, store, wrongs }: RaceGround,
  program: ProgramName,
  isEnough: (report: RaceReport) => boolean,
): Promise<RaceReport> {
  let sum = emptyReport()
  do {
    let isOver = false
    const round = processes
      .race(PROCESSES, { program, callers: CALLERS, milliseconds: MILLISECONDS, place })
      .finally(() => (isOver = true))
    // Awaited below; until then a failure is no unhandled one.
    round.catch(() => {})
    while (!isOver) {
      expect(await wrongs()).toEqual([])
      await expectNobodyOverQuota(store)
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
    sum = sumOfReports([sum, await round])
    expect(sum.faults).toEqual([])
  } while (!isEnough(sum))
  expect(await wrongs()).toEqual([])
  expect(await store.checkUsage()).toEqual([])
  return sum
}
