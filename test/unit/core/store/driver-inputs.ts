import { describe, expect, it } from 'vitest'
import { createStore, type StorageObjectStore } from '@svc/db'
import { activeRow, pendingRow } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { recordingDriver, type DriverResults } from './recording-driver.js'

const touched = { scopes: ['user:1'] }
export const RESULTS: DriverResults = {
  list: [],
  count: 3,
  usage: { bytes: 1, files: 2, reservedBytes: 3, reservedFiles: 4 },
  find: activeRow(),
  findActive: activeRow(),
  findPending: pendingRow(),
  findPendingMultipart: pendingRow(),
  reserve: { outcome: 'reserved', row: pendingRow(), ...touched },
  confirm: { outcome: 'confirmed', row: activeRow(), ...touched },
  setUploadId: { outcome: 'set', row: pendingRow(), ...touched },
  release: { row: pendingRow(), ...touched },
  remove: { row: activeRow(), ...touched },
  update: { row: activeRow(), ...touched },
  transfer: { outcome: 'transferred', row: activeRow(), ...touched },
  adopt: { outcome: 'adopted', row: activeRow(), ...touched },
  findById: activeRow(),
  listScopes: [],
  listStored: [],
  claimEvents: [],
  settleEvents: [],
  extendClaims: [],
  listEvents: { items: [], next: null },
  countEvents: { waiting: 1, claimed: 2, retrying: 3 },
  listExpired: [pendingRow()],
  purgeExpired: { rows: [pendingRow()], ...touched },
  listLeftovers: [],
  listDueLeftovers: [],
  deferLeftover: true,
  forgetLeftover: true,
  purgeDeleted: { dropped: 7, ...touched },
  migrate: { from: 1, to: 2 },
  verify: ['a table is missing'],
  checkUsage: [],
  repairUsage: [],
  ping: undefined,
  close: undefined,
}

/** Returns the driver input of a store call. */
export async function inputOf(call: (store: StorageObjectStore) => Promise<unknown>): Promise<unknown> {
  const { driver, calls } = recordingDriver(RESULTS)
  await call(createStore(driver, { now: () => NOON }))
  expect(calls).toHaveLength(1)
  expect(calls[0]!.args).toHaveLength(1)
  return calls[0]!.args[0]
}

interface Example<Input> {
  readonly least: Input
  /** The same with `null` for all optional fields. */
  readonly nulls: Input
  readonly leastResolved: unknown
  readonly most: Input
  readonly mostResolved: unknown
}

/** Purges refuse unknown fields: a misspelled filter would remove too much. */
const isPurge = (method: keyof StorageObjectStore) => method.startsWith('purge')

/** Registers tests of what the driver receives for the smallest and the largest input of a method. */
export function describeInput<Input>(
  method: keyof StorageObjectStore,
  call: (store: StorageObjectStore, input: Input) => Promise<unknown>,
  { least, nulls, leastResolved, most, mostResolved }: Example<Input>,
): void {
  describe(`the driver input of ${method}`, () => {
    it('is complete for the smallest input', async () => {
      expect(await inputOf((store) => call(store, least))).toStrictEqual(leastResolved)
    })

    it('is the same with null for optional fields', async () => {
      expect(await inputOf((store) => call(store, nulls))).toStrictEqual(leastResolved)
    })

    it('has all given fields and no unknown ones', async () => {
      expect(await inputOf((store) => call(store, most))).toStrictEqual(mostResolved)
      const unknown = { ...most, unknown: 'field' }
      if (!isPurge(method)) {
        expect(await inputOf((store) => call(store, unknown))).toStrictEqual(mostResolved)
      }
    })
  })
}
