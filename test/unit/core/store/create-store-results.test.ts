import { describe, expect, it } from 'vitest'
import { createStore, StorageError, type StorageObjectStore } from '@svc/db'
import { decodeCursor } from '../../../../src/core/store/cursor.js'
import { activeRow, idNumber, pendingRow } from '../rows.js'
import { afterNoon, NOON } from '../settable-clock.js'
import { failingDriver, recordingDriver, type DriverResults } from './recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const RESERVATION = { ...REFERENCE, scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1) }

function storeReturning(results: DriverResults): StorageObjectStore {
  return createStore(recordingDriver(results).driver, { now: () => NOON })
}

describe('a page', () => {
  const rows = [5, 4, 3, 2, 1].map((number) => activeRow({ id: idNumber(number) }))
  const pageOf = (found: number, limit: number) =>
    storeReturning({ list: rows.slice(0, found) }).listByScope({ scope: 'user:1', limit })

  it('has a nextCursor for its last row if the driver returns one row more', async () => {
    const { objects, nextCursor } = await pageOf(5, 4)
    expect(objects).toEqual(rows.slice(0, 4))
    expect(decodeCursor(nextCursor)).toBe(idNumber(2))
  })

  it('has no nextCursor if the rows just fill it', async () => {
    expect(await pageOf(4, 4)).toStrictEqual({ objects: rows.slice(0, 4) })
  })

  it('has no nextCursor if it is not full or empty', async () => {
    expect(await pageOf(1, 4)).toStrictEqual({ objects: rows.slice(0, 1) })
    expect(await pageOf(0, 4)).toStrictEqual({ objects: [] })
  })

  it('can have a single row', async () => {
    const { objects, nextCursor } = await pageOf(2, 1)
    expect(objects).toEqual([rows[0]])
    expect(decodeCursor(nextCursor)).toBe(idNumber(5))
  })
})

describe("a driver's result", () => {
  const usage = { bytes: 1, files: 2, reservedBytes: 3, reservedFiles: 4 }
  const leftover = {
    ...REFERENCE,
    attemptId: idNumber(1),
    scope: 'user:1',
    storageKey: null,
    uploadId: 'upload',
    since: NOON,
    writableUntil: NOON,
    dueAt: NOON,
  }
  const difference = { scope: 'user:1', recorded: usage, actual: { ...usage, files: 1 } }
  const touched = { scopes: ['user:1'] }

  it.each<
    [keyof StorageObjectStore, DriverResults, (store: StorageObjectStore) => Promise<unknown>, unknown]
  >([
    ['countByScope', { count: 3 }, (store) => store.countByScope('user:1'), 3],
    ['getScopeUsage', { usage }, (store) => store.getScopeUsage('user:1'), usage],
    ['find', { find: activeRow() }, (store) => store.find(REFERENCE), activeRow()],
    ['find', { find: null }, (store) => store.find(REFERENCE), null],
    ['findActive', { findActive: activeRow() }, (store) => store.findActive(REFERENCE), activeRow()],
    ['findPending', { findPending: pendingRow() }, (store) => store.findPending(REFERENCE), pendingRow()],
    [
      'findPendingMultipart',
      { findPendingMultipart: pendingRow() },
      (store) => store.findPendingMultipart({ ...REFERENCE, fileSize: 1 }),
      pendingRow(),
    ],
    [
      'reserve',
      { reserve: { outcome: 'reserved', row: pendingRow(), ...touched } },
      (store) => store.reserve(RESERVATION),
      pendingRow(),
    ],
    [
      'confirm',
      { confirm: { outcome: 'confirmed', row: activeRow(), ...touched } },
      (store) => store.confirm({ ...REFERENCE, size: 1 }),
      activeRow(),
    ],
    [
      'setUploadId',
      { setUploadId: { outcome: 'set', row: pendingRow(), ...touched } },
      (store) => store.setUploadId({ ...REFERENCE, id: idNumber(1), uploadId: 'upload' }),
      pendingRow(),
    ],
    [
      'release',
      { release: { row: pendingRow(), ...touched } },
      (store) => store.release(REFERENCE),
      pendingRow(),
    ],
    ['release', { release: { row: null, scopes: [] } }, (store) => store.release(REFERENCE), null],
    ['remove', { remove: { row: activeRow(), ...touched } }, (store) => store.remove(REFERENCE), activeRow()],
    ['remove', { remove: { row: null, scopes: [] } }, (store) => store.remove(REFERENCE), null],
    ['listExpired', { listExpired: [pendingRow()] }, (store) => store.listExpired(), [pendingRow()]],
    [
      'purgeExpired',
      { purgeExpired: { rows: [pendingRow()], ...touched } },
      (store) => store.purgeExpired(),
      [pendingRow()],
    ],
    ['listLeftovers', { listLeftovers: [leftover] }, (store) => store.listLeftovers(), [leftover]],
    [
      'forgetLeftover',
      { forgetLeftover: false },
      (store) => store.forgetLeftover({ attemptId: idNumber(1) }),
      false,
    ],
    [
      'purgeDeleted',
      { purgeDeleted: { dropped: 7, ...touched } },
      (store) => store.purgeDeleted({ before: NOON }),
      7,
    ],
    ['migrate', { migrate: { from: 1, to: 2 } }, (store) => store.migrate(), { from: 1, to: 2 }],
    ['verify', { verify: ['an index is missing'] }, (store) => store.verify(), ['an index is missing']],
    ['checkUsage', { checkUsage: [difference] }, (store) => store.checkUsage(), [difference]],
    ['repairUsage', { repairUsage: [difference] }, (store) => store.repairUsage(), [difference]],
    ['ping', { ping: undefined }, (store) => store.ping(), undefined],
    ['close', { close: undefined }, (store) => store.close(), undefined],
  ])('is returned by %s', async (_method, results, call, expected) => {
    expect(await call(storeReturning(results))).toStrictEqual(expected)
  })
})

describe("a driver's refusal", () => {
  const excess = { max: 100, used: 90, requested: 11 }
  const reserve = (store: StorageObjectStore) => store.reserve(RESERVATION)
  const confirm = (store: StorageObjectStore) => store.confirm({ ...REFERENCE, size: 1 })
  const setUploadId = (store: StorageObjectStore) =>
    store.setUploadId({ ...REFERENCE, id: idNumber(1), uploadId: 'upload' })

  it.each<
    [
      string,
      DriverResults,
      (store: StorageObjectStore) => Promise<unknown>,
      Pick<StorageError, 'code' | 'params'>,
    ]
  >([
    [
      'a key that is taken as KEY_CONFLICT',
      { reserve: { outcome: 'key-conflict' } },
      reserve,
      { code: 'KEY_CONFLICT' },
    ],
    [
      'an id of another attempt as VALIDATION_ERROR of the id',
      { reserve: { outcome: 'reused', field: 'id' } },
      reserve,
      { code: 'VALIDATION_ERROR', params: { field: 'id' } },
    ],
    [
      'a storage key of another attempt as VALIDATION_ERROR of the storage key',
      { reserve: { outcome: 'reused', field: 'storageKey' } },
      reserve,
      { code: 'VALIDATION_ERROR', params: { field: 'storageKey' } },
    ],
    [
      'bytes beyond the quota as QUOTA_EXCEEDED by maxBytes',
      { reserve: { outcome: 'quota-exceeded', limit: 'maxBytes', ...excess } },
      reserve,
      { code: 'QUOTA_EXCEEDED', params: { limit: 'maxBytes', ...excess } },
    ],
    [
      'files beyond the quota as QUOTA_EXCEEDED by maxFiles',
      { reserve: { outcome: 'quota-exceeded', limit: 'maxFiles', ...excess } },
      reserve,
      { code: 'QUOTA_EXCEEDED', params: { limit: 'maxFiles', ...excess } },
    ],
    [
      'a reservation beyond what sums can say as VALIDATION_ERROR of the declared size',
      { reserve: { outcome: 'sum-too-large' } },
      reserve,
      { code: 'VALIDATION_ERROR', params: { field: 'declaredSize' } },
    ],
    [
      'the confirm of nothing as OBJECT_NOT_FOUND',
      { confirm: { outcome: 'not-found' } },
      confirm,
      { code: 'OBJECT_NOT_FOUND' },
    ],
    [
      'a confirm beyond the quota as QUOTA_EXCEEDED',
      { confirm: { outcome: 'quota-exceeded', limit: 'maxBytes', ...excess } },
      confirm,
      { code: 'QUOTA_EXCEEDED', params: { limit: 'maxBytes', ...excess } },
    ],
    [
      'a confirm beyond what sums can say as VALIDATION_ERROR of the size',
      { confirm: { outcome: 'sum-too-large' } },
      confirm,
      { code: 'VALIDATION_ERROR', params: { field: 'size' } },
    ],
    [
      'the upload id of an attempt that has ended as OBJECT_NOT_FOUND',
      { setUploadId: { outcome: 'not-found' } },
      setUploadId,
      { code: 'OBJECT_NOT_FOUND' },
    ],
    [
      'a second upload id as VALIDATION_ERROR of the upload id',
      { setUploadId: { outcome: 'other-upload' } },
      setUploadId,
      { code: 'VALIDATION_ERROR', params: { field: 'uploadId' } },
    ],
  ])('is thrown: %s', async (_what, results, call, { code, params }) => {
    const error: unknown = await call(storeReturning(results)).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({ code })
    expect((error as StorageError).params).toStrictEqual(params)
  })

  it('has the numbers of a quota', async () => {
    const store = storeReturning({ reserve: { outcome: 'quota-exceeded', limit: 'maxFiles', ...excess } })
    await expect(reserve(store)).rejects.toThrow(
      'The quota of 100 files would be exceeded: 90 in use, 11 more requested.',
    )
  })
})

describe("a driver's error", () => {
  it.each([new StorageError('DATABASE_UNAVAILABLE', { message: 'Run migrate().' }), new Error('broken')])(
    'reaches the caller unchanged: %s',
    async (thrown) => {
      const store = createStore(failingDriver(thrown))
      await expect(store.ping()).rejects.toBe(thrown)
      await expect(store.find(REFERENCE)).rejects.toBe(thrown)
    },
  )
})
