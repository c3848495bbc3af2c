import { describe, expect, it } from 'vitest'
import {
  createStore,
  type ConfirmInput,
  type FindPendingInput,
  type ListByScopeInput,
  type ListDueLeftoversInput,
  type ListExpiredInput,
  type ListLeftoversInput,
  type PurgeDeletedInput,
  type PurgeExpiredInput,
  type ReleaseInput,
  type RemoveInput,
  type StorageObjectStore,
} from '@svc/db'
import { encodeCursor } from '../../../../src/core/store/cursor.js'
import { idNumber } from '../rows.js'
import { afterNoon, NOON } from '../settable-clock.js'
import { describeInput, inputOf, RESULTS } from './driver-inputs.js'
import { recordingDriver } from './recording-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const UNLIMITED = { maxBytes: null, maxFiles: null }
const QUOTA = { maxBytes: 1000, maxFiles: 10 }

describeInput<ListByScopeInput>('listByScope', (store, input) => store.listByScope(input), {
  least: { scope: 'user:1' },
  nulls: {
    ...{ scope: 'user:1', status: null, route: null, limit: null, cursor: null },
    ...{ withMetadata: null, fromPrimary: null },
  },
  leastResolved: {
    scope: 'user:1',
    statuses: ['pending', 'active'],
    route: null,
    limit: 101,
    before: null,
    withMetadata: true,
    fromPrimary: false,
  },
  most: {
    scope: 'user:1',
    status: 'deleted',
    route: 'avatars',
    limit: 1000,
    cursor: encodeCursor(idNumber(9)),
    withMetadata: false,
    fromPrimary: true,
  },
  mostResolved: {
    scope: 'user:1',
    statuses: ['deleted'],
    route: 'avatars',
    limit: 1001,
    before: idNumber(9),
    withMetadata: false,
    fromPrimary: true,
  },
})

describeInput<FindPendingInput>('findPending', (store, input) => store.findPending(input), {
  least: REFERENCE,
  nulls: { ...REFERENCE, scope: null, id: null, uploadId: null },
  leastResolved: { ...REFERENCE, scope: null, id: null, uploadId: null },
  most: { ...REFERENCE, scope: 'user:1', id: idNumber(1), uploadId: 'upload' },
  mostResolved: { ...REFERENCE, scope: 'user:1', id: idNumber(1), uploadId: 'upload' },
})

describeInput<ConfirmInput>('confirm', (store, input) => store.confirm(input), {
  least: { ...REFERENCE, size: 5 },
  nulls: { ...REFERENCE, size: 5, id: null, scope: null, eTag: null, contentType: null, quota: null },
  leastResolved: {
    ...REFERENCE,
    size: 5,
    id: null,
    scope: null,
    eTag: null,
    contentType: null,
    quota: UNLIMITED,
    now: NOON,
  },
  most: {
    ...REFERENCE,
    size: 5,
    id: idNumber(1),
    scope: 'user:1',
    eTag: 'etag',
    contentType: 'image/png',
    quota: QUOTA,
  },
  mostResolved: {
    ...REFERENCE,
    size: 5,
    id: idNumber(1),
    scope: 'user:1',
    eTag: 'etag',
    contentType: 'image/png',
    quota: QUOTA,
    now: NOON,
  },
})

describeInput<ReleaseInput>('release', (store, input) => store.release(input), {
  least: REFERENCE,
  nulls: { ...REFERENCE, id: null, scope: null, uploadId: null },
  leastResolved: { ...REFERENCE, id: null, scope: null, uploadId: null, now: NOON },
  most: { ...REFERENCE, id: idNumber(1), scope: 'user:1', uploadId: 'upload' },
  mostResolved: { ...REFERENCE, id: idNumber(1), scope: 'user:1', uploadId: 'upload', now: NOON },
})

describeInput<RemoveInput>('remove', (store, input) => store.remove(input), {
  least: REFERENCE,
  nulls: { ...REFERENCE, scope: null, attemptId: null, mode: null },
  leastResolved: { ...REFERENCE, scope: null, attemptId: null, mode: 'soft', now: NOON },
  most: { ...REFERENCE, scope: 'user:1', attemptId: idNumber(1), mode: 'hard' },
  mostResolved: { ...REFERENCE, scope: 'user:1', attemptId: idNumber(1), mode: 'hard', now: NOON },
})

describeInput<ListExpiredInput>('listExpired', (store, input) => store.listExpired(input), {
  least: {},
  nulls: { scope: null, before: null, limit: null, after: null },
  leastResolved: { scope: null, before: NOON, limit: 100, after: null },
  most: {
    scope: 'user:1',
    before: afterNoon(-1),
    limit: 1000,
    after: { expiresAt: afterNoon(-2), id: idNumber(1) },
  },
  mostResolved: {
    scope: 'user:1',
    before: afterNoon(-1),
    limit: 1000,
    after: { expiresAt: afterNoon(-2), id: idNumber(1) },
  },
})

describeInput<PurgeExpiredInput>('purgeExpired', (store, input) => store.purgeExpired(input), {
  least: {},
  nulls: { scope: null, before: null, limit: null },
  leastResolved: { scope: null, before: NOON, limit: 100, now: NOON },
  most: { scope: 'user:1', before: afterNoon(-1), limit: 1 },
  mostResolved: { scope: 'user:1', before: afterNoon(-1), limit: 1, now: NOON },
})

describeInput<ListLeftoversInput>('listLeftovers', (store, input) => store.listLeftovers(input), {
  least: {},
  nulls: { scope: null, dueBefore: null, limit: null, after: null },
  leastResolved: { scope: null, limit: 100, after: null },
  most: { scope: 'user:1', limit: 1000, after: { since: NOON, attemptId: idNumber(1) } },
  mostResolved: { scope: 'user:1', limit: 1000, after: { since: NOON, attemptId: idNumber(1) } },
})

describeInput<ListDueLeftoversInput>('listLeftovers', (store, input) => store.listLeftovers(input), {
  least: { dueBefore: NOON },
  nulls: { scope: null, dueBefore: NOON, limit: null, after: null },
  leastResolved: { scope: null, dueBefore: NOON, limit: 100, after: null },
  most: { scope: 'user:1', dueBefore: NOON, limit: 1, after: { dueAt: NOON, attemptId: idNumber(1) } },
  mostResolved: {
    scope: 'user:1',
    dueBefore: NOON,
    limit: 1,
    after: { dueAt: NOON, attemptId: idNumber(1) },
  },
})

describeInput<PurgeDeletedInput>('purgeDeleted', (store, input) => store.purgeDeleted(input), {
  least: { before: afterNoon(1) },
  nulls: { scope: null, before: afterNoon(1), limit: null },
  leastResolved: { scope: null, before: afterNoon(1), limit: 100 },
  most: { scope: 'user:1', before: NOON, limit: 1000 },
  mostResolved: { scope: 'user:1', before: NOON, limit: 1000 },
})

describe('the driver input of reserve', () => {
  const least = { ...REFERENCE, scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1) }
  const nulls = {
    route: null,
    filename: null,
    contentType: null,
    metadata: null,
    storageKey: null,
    uploadId: null,
  }
  const leastResolved = {
    ...least,
    ...nulls,
    overwrite: true,
    quota: UNLIMITED,
    now: NOON,
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
  }
  const most = {
    ...least,
    id: idNumber(1),
    route: 'avatars',
    filename: 'me.png',
    contentType: 'image/png',
    metadata: { width: '5' },
    storageKey: 'a.png/1',
    uploadId: 'upload',
    overwrite: false,
    quota: { maxFiles: 3 },
  }

  it('is complete for the smallest input, with a new id', async () => {
    expect(await inputOf((store) => store.reserve(least))).toStrictEqual(leastResolved)
  })

  it('is the same with null for optional fields', async () => {
    const input = { ...least, ...nulls, overwrite: null, quota: null, id: null }
    expect(await inputOf((store) => store.reserve(input))).toStrictEqual(leastResolved)
  })

  it('has all given fields and no unknown ones', async () => {
    const input = { ...most, status: 'active', createdAt: NOON, unknown: 'field' }
    expect(await inputOf((store) => store.reserve(input))).toStrictEqual({
      ...most,
      quota: { maxBytes: null, maxFiles: 3 },
      now: NOON,
    })
  })

  it('has a new id for each attempt', async () => {
    const ids = [
      await inputOf((store) => store.reserve(least)),
      await inputOf((store) => store.reserve(least)),
    ]
    const [first, second] = ids.map((command) => (command as { id: string }).id)
    expect(first! < second!).toBe(true)
  })
})

describe('the driver input of the other calls', () => {
  it.each<[keyof StorageObjectStore, (store: StorageObjectStore) => Promise<unknown>, unknown]>([
    ['find', (store) => store.find(REFERENCE), { ...REFERENCE, scope: null }],
    ['findActive', (store) => store.findActive(REFERENCE), { ...REFERENCE, scope: null }],
    ['find', (store) => store.find({ ...REFERENCE, scope: 'user:1' }), { ...REFERENCE, scope: 'user:1' }],
    [
      'deferLeftover',
      (store) => store.deferLeftover({ attemptId: idNumber(1), until: NOON }),
      { attemptId: idNumber(1), until: NOON },
    ],
    [
      'findPendingMultipart',
      (store) => store.findPendingMultipart({ ...REFERENCE, fileSize: 5 }),
      { ...REFERENCE, fileSize: 5, now: NOON },
    ],
    [
      'setUploadId',
      (store) => store.setUploadId({ ...REFERENCE, id: idNumber(1), uploadId: 'upload' }),
      { ...REFERENCE, id: idNumber(1), uploadId: 'upload', now: NOON },
    ],
    ['getScopeUsage', (store) => store.getScopeUsage('user:1'), 'user:1'],
    ['forgetLeftover', (store) => store.forgetLeftover({ attemptId: idNumber(1) }), idNumber(1)],
    ['checkUsage', (store) => store.checkUsage('user:1'), 'user:1'],
    ['checkUsage', (store) => store.checkUsage(), null],
    ['checkUsage', (store) => store.checkUsage(null), null],
    ['repairUsage', (store) => store.repairUsage('user:1'), 'user:1'],
    ['repairUsage', (store) => store.repairUsage(), null],
    ['repairUsage', (store) => store.repairUsage(null), null],
    ['listExpired', (store) => store.listExpired(), { scope: null, before: NOON, limit: 100, after: null }],
    ['purgeExpired', (store) => store.purgeExpired(), { scope: null, before: NOON, limit: 100, now: NOON }],
    ['listLeftovers', (store) => store.listLeftovers(), { scope: null, limit: 100, after: null }],
  ])('is exact: %s', async (_method, call, expected) => {
    expect(await inputOf(call)).toStrictEqual(expected)
  })

  it.each([
    [undefined, ['pending', 'active']],
    [null, ['pending', 'active']],
    ['pending', ['pending']],
    ['active', ['active']],
    ['deleted', ['deleted']],
  ] as const)('counts, for the status %s, the statuses %o', async (status, statuses) => {
    const input = await inputOf((store) => store.countByScope('user:1', status))
    expect(input).toStrictEqual({ scope: 'user:1', statuses })
  })

  it.each(['migrate', 'verify', 'ping', 'close'] as const)('is empty for %s', async (method) => {
    const { driver, calls } = recordingDriver(RESULTS)
    await createStore(driver)[method]()
    expect(calls).toEqual([{ method, args: [] }])
  })
})

describe('the latest expiry in the driver input', () => {
  it.each(['listExpired', 'purgeExpired'] as const)('is never later than now: %s', async (method) => {
    const bounds = [afterNoon(-1), NOON, afterNoon(1), new Date('9999-12-31T23:59:59.999Z')]
    const resolved = []
    for (const before of bounds) {
      const input = await inputOf((store) => store[method]({ before }))
      resolved.push((input as { before: Date }).before)
    }
    expect(resolved).toEqual([afterNoon(-1), NOON, NOON, NOON])
  })
})
