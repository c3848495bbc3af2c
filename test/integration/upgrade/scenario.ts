import type { ObjectPage, StorageObject } from '@svc/db'
import { expect } from 'vitest'
import { BUCKET, inAnHour, SCOPES, TIGHT, TIGHT_QUOTA, type LoadReport } from './load.js'
import type { OwnKey } from './own-keys.js'
import type { RunningLoad, UpgradeProcess } from './processes.js'

const ROWS = 5000
const CALLERS = 4
const KEYS_OF_PROCESS = 30
/** Calls of each process in each part of a scenario. */
const CALLS = 240
const PAGE = 100
const FILLED_SCOPES = SCOPES.slice(0, 3)

/** Returns the keys of that many processes, with nothing at them yet. */
export function newKeys(processes: number): OwnKey[][] {
  return Array.from({ length: processes }, (_, process) =>
    Array.from({ length: KEYS_OF_PROCESS }, (_, i) => ({
      key: `own/${process}/${i}`,
      scope: SCOPES[i % SCOPES.length]!,
      active: null,
      pending: null,
    })),
  )
}

/** Fills the database with objects that nothing changes later. */
export async function loadRows(process: UpgradeProcess): Promise<void> {
  const names = Array.from({ length: ROWS }, (_, i) => i)
  while (names.length > 0) {
    const adding = names.splice(0, 64).map(async (i) => {
      const reference = { bucket: BUCKET, key: `loaded/${i}` }
      const scope = FILLED_SCOPES[i % FILLED_SCOPES.length]!
      const input = {
        ...reference,
        scope,
        declaredSize: 10,
        expiresAt: inAnHour(),
        storageKey: `loaded/${i}`,
      }
      const { id } = await process.call('reserve', input)
      await process.call('confirm', { ...reference, id, scope, size: 10 })
    })
    await Promise.all(adding)
  }
}

export function startLoads(
  processes: readonly UpgradeProcess[],
  keys: readonly (readonly OwnKey[])[],
): RunningLoad[] {
  return processes.map((process, i) => process.startLoad(CALLERS, keys[i]!))
}

export async function untilCalls(loads: readonly RunningLoad[]): Promise<void> {
  await Promise.all(loads.map((load) => load.untilCalls(CALLS)))
}

/** Ends loads, expects no errors and no lost write, and returns their reports. */
export async function finishLoads(loads: readonly RunningLoad[]): Promise<LoadReport[]> {
  const reports = await Promise.all(loads.map((load) => load.finish()))
  expect(reports.flatMap(({ faults }) => faults)).toEqual([])
  return reports
}

/** Returns the keys of the reports for the next processes, so that each continues what another one left. */
export function passedOn(reports: readonly LoadReport[]): OwnKey[][] {
  const keys = reports.map(({ keys }) => keys)
  return [...keys.slice(1), keys[0]!]
}

/** Expects that both versions find the same rows in order, and nothing wrong with schema and sums. */
export async function expectSound(processes: readonly UpgradeProcess[]): Promise<void> {
  for (const process of processes) {
    expect(await process.call('verify'), process.version).toEqual([])
    expect(await process.call('checkUsage'), process.version).toEqual([])
  }
  const { bytes, files, reservedBytes, reservedFiles } = await processes[0]!.call('getScopeUsage', TIGHT)
  expect(bytes + reservedBytes).toBeLessThanOrEqual(TIGHT_QUOTA.maxBytes)
  expect(files + reservedFiles).toBeLessThanOrEqual(TIGHT_QUOTA.maxFiles)
  const [first, second] = processes
  for (const scope of SCOPES) {
    const list = await listed([first!, second!], scope)
    expect(await listed([second!, first!], scope)).toEqual(list)
    if (FILLED_SCOPES.includes(scope)) expect(list.length).toBeGreaterThan(PAGE)
  }
}

/** Lists a scope, including its history. The processes take turns, so each continues at a cursor of the other. */
async function listed(processes: readonly UpgradeProcess[], scope: string): Promise<KnownObject[]> {
  const objects: KnownObject[] = []
  for (const status of [null, 'deleted'] as const) {
    let cursor: string | null = null
    for (let page = 0; page === 0 || cursor !== null; page++) {
      const process = processes[page % processes.length]!
      const found: ObjectPage = await process.call('listByScope', { scope, status, limit: PAGE, cursor })
      objects.push(...found.objects.map(knownFields))
      cursor = found.nextCursor ?? null
    }
  }
  return objects
}

/** The fields of an object that both versions return. */
type KnownObject = Omit<StorageObject, 'temporaryUntil' | 'arrivedAt'>

function knownFields({ temporaryUntil: _end, arrivedAt: _arrival, ...object }: StorageObject): KnownObject {
  return object
}

/** Returns the longest call of the loads, in milliseconds. */
export function longestPause(reports: readonly LoadReport[]): number {
  return Math.round(Math.max(...reports.map((report) => report.longestPause)))
}
