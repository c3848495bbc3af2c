import { afterEach, expect, it, vi } from 'vitest'
import { createStore, StorageError, type StorageObjectStore, type StoreDriver } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { seed } from '../../../../src/adapters/memory/seed.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { isUnsupportedCall } from '../../../../src/core/store/unsupported-call.js'
import { sameUsage } from '../../../../src/core/store/usage.js'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'
import { failingDriver } from './failing-driver.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const CLAIM = { id: 'event', claim: 'claim' }
const OPTIONAL_CALLS: readonly [keyof StoreDriver, (store: StorageObjectStore) => Promise<unknown>][] = [
  ['update', (store) => store.update({ ...REFERENCE, filename: 'a' })],
  ['transfer', (store) => store.transfer({ ...REFERENCE, from: 'user:1', to: 'user:2' })],
  [
    'adopt',
    (store) => store.adopt({ ...REFERENCE, scope: 'user:1', storageKey: 'a', size: 5, createdAt: NOON }),
  ],
  ['findById', (store) => store.findById({ id: idNumber(1) })],
  ['listScopes', (store) => store.listScopes()],
  ['listStored', (store) => store.listStored({ bucket: 'photos' })],
  ['claimEvents', (store) => store.claimEvents()],
  ['settleEvents', (store) => store.settleEvents([])],
  ['extendClaims', (store) => store.extendClaims([CLAIM])],
  ['listEvents', (store) => store.listEvents()],
  ['countEvents', (store) => store.countEvents()],
  ['deferLeftover', (store) => store.deferLeftover({ attemptId: idNumber(1), until: NOON })],
]

async function rejectionOf(call: Promise<unknown>): Promise<Error> {
  return call.then(
    () => new Error('It did not reject.'),
    (thrown: unknown) => thrown as Error,
  )
}

afterEach(() => {
  vi.useRealTimers()
})

it.each(OPTIONAL_CALLS)('rejects with a TypeError if the driver has no method %s', async (method, call) => {
  const driver = createMemoryDriver(new Tables())
  const error = await rejectionOf(call(createStore({ ...driver, [method]: undefined })))
  expect(error).toEqual(
    new TypeError(
      `${method}() needs the method "${method}" of StoreDriver, and this driver does not have it.`,
    ),
  )
  expect(isUnsupportedCall(error)).toBe(true)
})

it.each<[string, (store: StorageObjectStore) => Promise<unknown>]>([
  ['remove({ attemptId })', (store) => store.remove({ ...REFERENCE, attemptId: idNumber(1) })],
  ['listLeftovers({ scope })', (store) => store.listLeftovers({ scope: 'user:1' })],
  ['purgeDeleted({ scope })', (store) => store.purgeDeleted({ scope: 'user:1', before: NOON })],
])('rejects %s if the driver declares no contract, because it would ignore the field', async (name, call) => {
  const { contract: _, ...driver } = createMemoryDriver(new Tables())
  const error = await rejectionOf(call(createStore(driver)))
  expect(error).toEqual(
    new TypeError(`${name} needs a StoreDriver with contract: '1.6', and this driver declares none.`),
  )
  expect(isUnsupportedCall(error)).toBe(true)
})

it('names the field that needs a method', async () => {
  const driver = { ...createMemoryDriver(new Tables()), listDueLeftovers: undefined }
  const error = await rejectionOf(createStore(driver as never).listLeftovers({ dueBefore: NOON }))
  expect(error.message).toContain('listLeftovers({ dueBefore }) needs the method "listDueLeftovers"')
})

it('calls the methods of a driver on the driver', async () => {
  class CountingDriver {
    readonly counts = { waiting: 1, claimed: 2, retrying: 3 }
    async countEvents() {
      return this.counts
    }
  }
  const driver = Object.assign(new CountingDriver(), { contract: '1.6' }) as unknown as StoreDriver
  expect(await createStore(driver).countEvents()).toEqual({ waiting: 1, claimed: 2, retrying: 3 })
})

it.each([new StorageError('DATABASE_UNAVAILABLE', { message: 'Run migrate().' }), new Error('broken')])(
  'passes on the errors of a driver: %s',
  async (thrown) => {
    const store = createStore(failingDriver(thrown))
    await expect(store.find(REFERENCE)).rejects.toBe(thrown)
    await expect(store.listStored({ bucket: 'photos' })).rejects.toBe(thrown)
  },
)

it('returns no row of another scope if the driver ignores the scope', async () => {
  const tables = new Tables()
  seed(tables, [{ ...REFERENCE, scope: 'user:1', id: idNumber(1) }], NOON)
  const driver = createMemoryDriver(tables)
  const store = createStore({
    ...driver,
    find: (query) => driver.find({ ...query, scope: null }),
    findActive: (query) => driver.findActive({ ...query, scope: null }),
    findById: (query) => driver.findById!({ ...query, scope: null }),
  })
  for (const [scope, found] of [
    ['user:1', { id: idNumber(1) }],
    ['user:2', null],
  ] as const) {
    const expected = found === null ? null : (expect.objectContaining(found) as unknown)
    expect(await store.find({ ...REFERENCE, scope })).toEqual(expected)
    expect(await store.findActive({ ...REFERENCE, scope })).toEqual(expected)
    expect(await store.findById({ id: idNumber(1), scope })).toEqual(expected)
  }
})

it('counts the whole size if an adoption takes over the expired reservation of another scope', async () => {
  const objects = [
    { ...REFERENCE, key: 'large', scope: 'user:1', size: Number.MAX_SAFE_INTEGER - 4 },
    { ...REFERENCE, scope: 'user:2', status: 'pending', declaredSize: 5, expiresAt: NOON } as const,
  ]
  const store = memoryAdapter({ now: () => NOON, objects })
  const bytes = { ...REFERENCE, scope: 'user:1', storageKey: 'stored', createdAt: NOON }
  await expect(store.adopt({ ...bytes, size: 5 })).rejects.toMatchObject({ params: { field: 'size' } })
  expect(await store.adopt({ ...bytes, size: 4 })).toMatchObject({ known: false })
})

it.each(['bytes', 'files', 'reservedBytes', 'reservedFiles'])(
  'finds usage that differs in its %s',
  (field) => {
    const usage = { bytes: 1, files: 2, reservedBytes: 3, reservedFiles: 4 }
    expect(sameUsage(usage, { ...usage })).toBe(true)
    expect(sameUsage(usage, { ...usage, [field]: 9 })).toBe(false)
  },
)

it('stores a size of -0 as 0', async () => {
  const expiresAt = new Date(NOON.getTime() + 1)
  const store = memoryAdapter({ now: () => NOON })
  const row = await store.reserve({ ...REFERENCE, scope: 'user:1', declaredSize: -0, expiresAt })
  expect(row.declaredSize).toBe(0)
})

it('uses the system clock by default', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: NOON })
  const store = createStore(createMemoryDriver(new Tables()))
  const expiresAt = new Date(NOON.getTime() + 1)
  const input = { ...REFERENCE, scope: 'user:1', declaredSize: 5, expiresAt }
  expect(await store.reserve(input)).toMatchObject({ createdAt: NOON })
})

it('ends claims with the year 9999, the latest date of every database', async () => {
  const last = new Date('9999-12-31T23:59:59.999Z')
  const claimEvents = vi.fn(async () => [])
  const driver = { ...createMemoryDriver(new Tables()), claimEvents }
  await createStore(driver, { now: () => new Date(last.getTime() - 1000) }).claimEvents()
  expect(claimEvents).toHaveBeenCalledWith(expect.objectContaining({ until: last }))
})

it('refuses holes in lists of claims', async () => {
  const store = createStore(createMemoryDriver(new Tables()))
  // eslint-disable-next-line no-sparse-arrays -- an array may have holes
  const entries = [CLAIM, , { ...CLAIM, id: 'other' }] as (typeof CLAIM)[]
  for (const call of [() => store.settleEvents(entries), () => store.extendClaims(entries)])
    await expect(call()).rejects.toMatchObject({ params: { field: 'entries[1]' } })
})
