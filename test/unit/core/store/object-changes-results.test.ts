import { describe, expect, it } from 'vitest'
import { createStore, StorageError, type StorageObjectStore, type StoreDriver } from '@svc/db'
import { encodeEventCursor } from '../../../../src/core/store/cursor.js'
import { isUnsupportedCall } from '../../../../src/core/store/unsupported-call.js'
import { activeRow, idNumber, pendingRow } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { recordingDriver, type DriverResults } from './recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const CLAIM = { id: 'event', claim: 'claim' }
const touched = { scopes: ['user:1'] }

const update = (store: StorageObjectStore) => store.update({ ...REFERENCE, filename: 'a' })
const transfer = (store: StorageObjectStore) => store.transfer({ ...REFERENCE, from: 'user:1', to: 'user:2' })
const adopt = (store: StorageObjectStore) =>
  store.adopt({ ...REFERENCE, scope: 'user:1', storageKey: 'stored', size: 5, createdAt: NOON })
const findById = (store: StorageObjectStore, scope?: string) => store.findById({ id: idNumber(1), scope })
const listStored = (store: StorageObjectStore) => store.listStored({ bucket: 'photos' })

function storeReturning(results: DriverResults): StorageObjectStore {
  return createStore(recordingDriver(results).driver, { now: () => NOON })
}

const summary = {
  scope: 'user:1',
  usage: { bytes: 1, files: 2, reservedBytes: 3, reservedFiles: 4 },
  counts: { active: 2, pending: 4, deleted: 6 },
}
const item = { storageKey: 'a.png', object: activeRow() }
const event = {
  id: 'event',
  type: 'activated',
  object: activeRow(),
  previous: null,
  createdAt: NOON,
} as const
const claimed = { ...event, attempts: 1, claim: 'claim' }
const page = { items: [{ ...event, attempts: 0, dueAt: NOON, claimedUntil: null }], next: 'next' }
const nextCursor = encodeEventCursor('next')
const lastPage = { ...page, next: null }
const counts = { waiting: 1, claimed: 2, retrying: 3 }

describe("a driver's result", () => {
  it.each<
    [keyof StorageObjectStore, DriverResults, (store: StorageObjectStore) => Promise<unknown>, unknown]
  >([
    ['update', { update: { row: activeRow(), ...touched } }, update, activeRow()],
    ['update', { update: { row: null, scopes: [] } }, update, null],
    [
      'transfer',
      { transfer: { outcome: 'transferred', row: activeRow(), ...touched } },
      transfer,
      activeRow(),
    ],
    ['transfer', { transfer: { outcome: 'transferred', row: null, scopes: [] } }, transfer, null],
    [
      'adopt',
      { adopt: { outcome: 'adopted', row: activeRow(), ...touched } },
      adopt,
      { object: activeRow(), known: false },
    ],
    [
      'adopt',
      { adopt: { outcome: 'known', object: pendingRow(), ...touched } },
      adopt,
      { object: pendingRow(), known: true },
    ],
    [
      'adopt',
      { adopt: { outcome: 'known', object: null, scopes: [] } },
      adopt,
      { object: null, known: true },
    ],
    ['findById', { findById: activeRow() }, findById, activeRow()],
    ['findById', { findById: null }, findById, null],
    ['findById', { findById: activeRow() }, (store) => findById(store, 'user:1'), activeRow()],
    ['listScopes', { listScopes: [summary] }, (store) => store.listScopes(), [summary]],
    ['listStored', { listStored: [item] }, listStored, [item]],
    ['claimEvents', { claimEvents: [claimed] }, (store) => store.claimEvents(), [claimed]],
    ['settleEvents', { settleEvents: ['event'] }, (store) => store.settleEvents([CLAIM]), ['event']],
    ['extendClaims', { extendClaims: [] }, (store) => store.extendClaims([CLAIM]), []],
    ['listEvents', { listEvents: page }, (store) => store.listEvents(), { ...page, next: nextCursor }],
    ['listEvents', { listEvents: lastPage }, (store) => store.listEvents(), lastPage],
    ['countEvents', { countEvents: counts }, (store) => store.countEvents(), counts],
  ])('is returned by %s', async (_method, results, call, expected) => {
    expect(await call(storeReturning(results))).toStrictEqual(expected)
  })

  it('is not returned by findById if it is a row of another scope', async () => {
    expect(await findById(storeReturning({ findById: activeRow() }), 'user:2')).toBeNull()
  })
})

describe("a driver's refusal", () => {
  const excess = { limit: 'maxFiles', max: 3, used: 3, reserved: 1, requested: 1 } as const

  it.each<
    [
      string,
      DriverResults,
      (store: StorageObjectStore) => Promise<unknown>,
      Pick<StorageError, 'code' | 'params'>,
    ]
  >([
    [
      'a transfer beyond the quota as QUOTA_EXCEEDED',
      { transfer: { outcome: 'quota-exceeded', ...excess } },
      transfer,
      { code: 'QUOTA_EXCEEDED', params: excess },
    ],
    [
      'a transfer beyond what sums can say as VALIDATION_ERROR of the new owner',
      { transfer: { outcome: 'sum-too-large' } },
      transfer,
      { code: 'VALIDATION_ERROR', params: { field: 'to' } },
    ],
    [
      'an adopt of a key that is taken as KEY_CONFLICT',
      { adopt: { outcome: 'key-conflict' } },
      adopt,
      { code: 'KEY_CONFLICT' },
    ],
    [
      'an adopt beyond what sums can say as VALIDATION_ERROR of the size',
      { adopt: { outcome: 'sum-too-large' } },
      adopt,
      { code: 'VALIDATION_ERROR', params: { field: 'size' } },
    ],
  ])('is thrown: %s', async (_what, results, call, { code, params }) => {
    const error: unknown = await call(storeReturning(results)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({ code })
    expect((error as StorageError).params).toStrictEqual(params)
  })
})

describe('a driver without the method makes', () => {
  it.each<[keyof StoreDriver, (store: StorageObjectStore) => Promise<unknown>]>([
    ['update', update],
    ['transfer', transfer],
    ['adopt', adopt],
    ['findById', findById],
    ['listScopes', (store) => store.listScopes()],
    ['listStored', listStored],
    ['claimEvents', (store) => store.claimEvents()],
    ['settleEvents', (store) => store.settleEvents([CLAIM])],
    ['settleEvents', (store) => store.settleEvents([])],
    ['extendClaims', (store) => store.extendClaims([CLAIM])],
    ['extendClaims', (store) => store.extendClaims([])],
    ['listEvents', (store) => store.listEvents()],
    ['countEvents', (store) => store.countEvents()],
  ])('%s reject with a TypeError that names it', async (method, call) => {
    const { driver } = recordingDriver()
    const lacking = new Proxy(driver, {
      get: (target, name): unknown => (name === method ? undefined : Reflect.get(target, name)),
    })
    const error: unknown = await call(createStore(lacking)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toBe(
      `${method}() needs the method "${method}" of StoreDriver, and this driver does not have it.`,
    )
    expect(isUnsupportedCall(error)).toBe(true)
  })
})

describe('a driver whose methods use this', () => {
  it('is called as an object', async () => {
    const { driver } = recordingDriver()
    class CountingDriver {
      readonly counts = counts
      async countEvents() {
        return this.counts
      }
    }
    const counting = Object.assign(new CountingDriver(), { ping: () => driver.ping() })
    expect(await createStore(counting as unknown as StoreDriver).countEvents()).toEqual(counts)
  })
})
