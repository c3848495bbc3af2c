import { fileURLToPath } from 'node:url'
import type { StorageObjectStore } from '@svc/db'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import type { Connection } from '../races/database.js'
import type { LoadReport, Version } from './load.js'
import { startProcess, type UpgradeProcess } from './processes.js'
import { expectEvents, type Switching } from './recorded-events.js'
import { releasedSource, type ReleasedSource } from './released-source.js'
import {
  expectSound,
  finishLoads,
  loadRows,
  longestPause,
  newKeys,
  passedOn,
  startLoads,
  untilCalls,
} from './scenario.js'

const ENTRY = fileURLToPath(new URL('./process.ts', import.meta.url))

/** A database of release 1.5.5, filled by that release, and processes of both versions. */
export interface Upgrade {
  /** Two processes of 1.5.5, which have written. */
  readonly old: readonly [UpgradeProcess, UpgradeProcess]
  /** Two processes of this version, which have not migrated. */
  readonly recent: readonly [UpgradeProcess, UpgradeProcess]
  readonly start: (version: Version) => UpgradeProcess
}

export interface UpgradedDatabase {
  /** The newest version of the schema. */
  readonly version: number
  /** Creates an empty place before each test. */
  readonly create: () => Connection
  readonly drop: () => Promise<unknown>
  readonly open: (options?: { readonly events?: boolean }) => StorageObjectStore
  /** Whether the database records events of processes of 1.5.5 as well. */
  readonly recordsOldProcesses: boolean
}

export const changesOf = (reports: readonly LoadReport[]) => reports.flatMap(({ changes }) => changes)

/** Turns on events. Changes meanwhile may or may not be recorded. */
export async function switchingBy(turnOn: () => Promise<unknown>): Promise<Switching> {
  const begin = Date.now()
  await turnOn()
  return { begin, end: Date.now() }
}

/** Registers the upgrade that every database must survive, and `more`. */
export function upgradeTests(database: UpgradedDatabase, more: (upgrade: () => Upgrade) => void): void {
  const { version, open, recordsOldProcesses } = database
  let released: ReleasedSource
  let programs: Record<Version, BundledWorker>
  let connection: Connection
  let processes: UpgradeProcess[]
  let upgrade: Upgrade
  beforeAll(async () => {
    released = releasedSource()
    programs = { '1.5.5': await released.bundle(ENTRY), '2.0': await bundleWorker(ENTRY) }
  })
  beforeEach(async () => {
    connection = database.create()
    processes = []
    upgrade = {
      old: [start('1.5.5'), start('1.5.5')],
      recent: [start('2.0'), start('2.0')],
      start,
    }
    await upgrade.old[0].call('migrate')
    await loadRows(upgrade.old[0])
  })
  afterEach(async () => {
    await Promise.all(processes.map((process) => process.close()))
    await database.drop()
  })
  afterAll(() => {
    programs['1.5.5'].remove()
    programs['2.0'].remove()
    released.remove()
  })

  function start(of: Version): UpgradeProcess {
    const process = startProcess(programs[of].file, of, connection)
    processes.push(process)
    return process
  }

  it('is upgraded by several processes, and can go back and forward again', async () => {
    const { old, recent } = upgrade
    const keys = newKeys(4)
    const oldLoads = startLoads(old, keys)
    await untilCalls(oldLoads)
    const migrations = await Promise.all([...recent, start('2.0')].map((process) => process.call('migrate')))
    expect(migrations.map(({ to }) => to)).toEqual(migrations.map(() => version))
    expect(migrations.filter(({ from }) => from === 1)).not.toHaveLength(0)
    await untilCalls(oldLoads)
    const loads = [...oldLoads, ...startLoads(recent, keys.slice(2))]
    await untilCalls(loads)
    const switching = recordsOldProcesses ? await switchingBy(() => open({ events: true }).migrate()) : null
    await untilCalls(loads)
    const upgraded = await finishLoads(loads)
    await expectSound([old[0], recent[0]])
    if (switching) await expectEvents(open(), changesOf(upgraded), switching)

    const backLoads = startLoads([...old, start('1.5.5'), start('1.5.5')], passedOn(upgraded))
    await untilCalls(backLoads)
    const back = await finishLoads(backLoads)
    await expectSound([old[0], recent[0]])

    const againLoads = startLoads([...recent, ...old], passedOn(back))
    await untilCalls(againLoads)
    const again = await finishLoads(againLoads)
    await expectSound([recent[0], old[0]])
    if (switching) await expectEvents(open(), changesOf([...upgraded, ...back, ...again]), switching)
    else expect(await open().countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
    console.info(`Longest call during the upgrade: ${longestPause(upgraded)} ms`)
  })

  more(() => upgrade)
}
