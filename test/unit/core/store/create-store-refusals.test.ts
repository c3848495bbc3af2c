import { describe, expect, it } from 'vitest'
import { createStore, type StorageObjectStore } from '@svc/db'
import { idNumber } from '../rows.js'
import { afterNoon, NOON } from '../settable-clock.js'
import { recordingDriver } from './recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const TEXT = ['', 5, 'a\0', '\ud800', {}]
const ID = ['', 'id', 5, idNumber(1).toUpperCase()]
const SIZE = [-1, 1.5, '5', Number.MAX_SAFE_INTEGER + 1]
const LIMIT = [0, 1001, 1.5, '5', NaN]
const DATE = [0, '2026-03-01', new Date(NaN), new Date('+010000-01-01T00:00:00.000Z')]
const QUOTA = [5, [], { maxBytes: -1 }, { maxFiles: 1.5 }]
const METADATA = [5, [], { a: 5 }, { a: 'b\0' }]
const MISSING = [null, undefined]

type Method = Exclude<keyof StorageObjectStore, 'migrate' | 'verify' | 'ping' | 'close'>

interface Rules {
  /** A valid input. */
  readonly good: Readonly<Record<string, unknown>>
  readonly bad: Readonly<Record<string, readonly unknown[]>>
}

const atKey = { bucket: [...MISSING, ...TEXT], key: [...MISSING, ...TEXT] }

const OF_OBJECTS: Partial<Record<Method, Rules>> = {
  listByScope: {
    good: { scope: 'user:1' },
    bad: { scope: [...MISSING, ...TEXT], status: ['', 'all', 5], route: TEXT, limit: LIMIT },
  },
  find: { good: REFERENCE, bad: atKey },
  findActive: { good: REFERENCE, bad: atKey },
  findPending: { good: REFERENCE, bad: { ...atKey, id: ID, uploadId: TEXT } },
  findPendingMultipart: {
    good: { ...REFERENCE, fileSize: 5 },
    bad: { ...atKey, fileSize: [...MISSING, ...SIZE] },
  },
  reserve: {
    good: { ...REFERENCE, scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1) },
    bad: {
      ...atKey,
      scope: [...MISSING, ...TEXT],
      declaredSize: [...MISSING, ...SIZE],
      expiresAt: [...MISSING, ...DATE, NOON, afterNoon(-1)],
      route: TEXT,
      filename: TEXT,
      contentType: TEXT,
      metadata: METADATA,
      storageKey: TEXT,
      uploadId: TEXT,
      overwrite: [0, 'true'],
      quota: QUOTA,
      id: ID,
    },
  },
  confirm: {
    good: { ...REFERENCE, size: 5 },
    bad: {
      ...atKey,
      size: [...MISSING, ...SIZE],
      id: ID,
      scope: TEXT,
      eTag: TEXT,
      contentType: TEXT,
      quota: QUOTA,
    },
  },
  setUploadId: {
    good: { ...REFERENCE, id: idNumber(1), uploadId: 'upload' },
    bad: { ...atKey, id: [...MISSING, ...ID], uploadId: [...MISSING, ...TEXT] },
  },
  release: { good: REFERENCE, bad: { ...atKey, id: ID, scope: TEXT, uploadId: TEXT } },
  remove: { good: REFERENCE, bad: { ...atKey, scope: TEXT, attemptId: ID, mode: ['', 'Soft', 5] } },
  update: {
    good: { ...REFERENCE, filename: 'a' },
    bad: {
      ...atKey,
      scope: TEXT,
      attemptId: ID,
      filename: TEXT,
      contentType: TEXT,
      metadata: METADATA,
    },
  },
  transfer: {
    good: { ...REFERENCE, from: 'user:1', to: 'user:2' },
    bad: {
      ...atKey,
      from: [...MISSING, ...TEXT],
      to: [...MISSING, ...TEXT],
      attemptId: ID,
      quota: QUOTA,
    },
  },
  adopt: {
    good: { ...REFERENCE, scope: 'user:1', storageKey: 'stored', size: 5, createdAt: NOON },
    bad: {
      ...atKey,
      scope: [...MISSING, ...TEXT],
      storageKey: [...MISSING, ...TEXT],
      size: [...MISSING, ...SIZE],
      createdAt: [...MISSING, ...DATE],
      eTag: TEXT,
      route: TEXT,
      filename: TEXT,
      contentType: TEXT,
      metadata: METADATA,
    },
  },
  findById: { good: { id: idNumber(1) }, bad: { id: [...MISSING, ...ID], scope: TEXT } },
  listScopes: { good: {}, bad: { limit: LIMIT, after: TEXT } },
  listStored: {
    good: { bucket: 'photos' },
    bad: { bucket: [...MISSING, ...TEXT], prefix: TEXT, after: TEXT, limit: LIMIT },
  },
  claimEvents: {
    good: {},
    bad: { limit: LIMIT, claimSeconds: [0, 3601, 1.5, '5', NaN], bucket: TEXT, key: TEXT },
  },
  listEvents: { good: {}, bad: { limit: LIMIT } },
  listExpired: {
    good: {},
    bad: {
      scope: TEXT,
      before: DATE,
      limit: LIMIT,
      after: [5, {}, { id: idNumber(1), expiresAt: null }, { id: 'id', expiresAt: NOON }],
    },
  },
  purgeExpired: { good: {}, bad: { scope: TEXT, before: DATE, limit: LIMIT } },
  listLeftovers: {
    good: {},
    bad: { limit: LIMIT, after: [5, {}, { attemptId: idNumber(1) }, { attemptId: 'id', since: NOON }] },
  },
  forgetLeftover: { good: { attemptId: idNumber(1) }, bad: { attemptId: [...MISSING, ...ID] } },
  purgeDeleted: { good: { before: NOON }, bad: { before: [...MISSING, ...DATE], limit: LIMIT } },
}

async function expectRefused(method: Method, args: readonly unknown[], field: string): Promise<void> {
  const { driver, calls } = recordingDriver()
  const store = createStore(driver, { now: () => NOON })
  const untyped = store as unknown as Record<Method, (...args: readonly unknown[]) => Promise<unknown>>
  const result = untyped[method](...args)
  await expect(result).rejects.toMatchObject({
    code: 'VALIDATION_ERROR',
    params: { field },
    message: expect.stringMatching(new RegExp(`^${field}[ .].+\\.$`)) as string,
  })
  expect(calls).toEqual([])
}

describe.each(Object.entries(OF_OBJECTS) as [Method, Rules][])('%s', (method, { good, bad }) => {
  it.each(Object.entries(bad))('refuses a bad %s by name, and calls no driver', async (field, values) => {
    for (const value of values) await expectRefused(method, [{ ...good, [field]: value }], field)
  })

  it('refuses inputs that are not objects without calling the driver', async () => {
    for (const input of ['a', 5, true, () => good]) await expectRefused(method, [input], 'input')
  })
})

const needAnInput = (Object.entries(OF_OBJECTS) as [Method, Rules][]).filter(
  ([, { good }]) => Object.keys(good).length > 0,
)

describe.each(needAnInput)('%s', (method) => {
  it('rejects instead of throwing if the input is missing', async () => {
    await expectRefused(method, [], 'input')
    await expectRefused(method, [null], 'input')
  })
})

describe('update', () => {
  it('refuses an input without a field to set', async () => {
    await expectRefused('update', [REFERENCE], 'input')
    await expectRefused('update', [{ ...REFERENCE, scope: 'user:1', filename: undefined }], 'input')
  })
})

describe.each(['countByScope', 'getScopeUsage', 'checkUsage', 'repairUsage'] as const)('%s', (method) => {
  it('refuses an invalid scope without calling the driver', async () => {
    for (const scope of TEXT) await expectRefused(method, [scope], 'scope')
  })
})

describe('countByScope', () => {
  it('refuses an invalid status and a missing scope without calling the driver', async () => {
    for (const status of ['', 'all', 5]) await expectRefused('countByScope', ['user:1', status], 'status')
    for (const scope of MISSING) await expectRefused('countByScope', [scope], 'scope')
  })
})
