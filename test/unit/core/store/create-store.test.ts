import { afterEach, describe, expect, it, vi } from 'vitest'
import { createStore } from '@svc/db/adapter'
import { memoryAdapter } from '@svc/db/memory'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { seed } from '../../../../src/adapters/memory/seed.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { sameUsage } from '../../../../src/core/store/lifecycle/usage.js'
import { idNumber } from '../rows.js'
import { NOON } from '../settable-clock.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const CLAIM = { id: 'event', claim: 'claim' }

afterEach(() => {
  vi.useRealTimers()
})

describe('refuses a driver that', () => {
  it.each([
    [['adopt'], 'method "adopt"'],
    [['transfer', 'adopt'], 'methods "transfer" and "adopt"'],
    [['recordsEvents', 'ping', 'count'], 'methods "count", "recordsEvents", and "ping"'],
  ])('lacks %j, and names all that is missing', (missing, named) => {
    const driver = {
      ...createMemoryDriver(new Tables()),
      ...Object.fromEntries(missing.map((name) => [name, undefined])),
    }
    expect(() => createStore(driver)).toThrow(new TypeError(`createStore: the driver lacks the ${named}.`))
  })

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['postgres://user:secret@host/db', 'a string'],
  ])('is no object: %j', (driver, got) => {
    expect(() => createStore(driver as never)).toThrow(
      new TypeError(`createStore: the driver must be an object (got ${got}).`),
    )
  })
})

it('names an outcome that it does not know, such as that of a driver for version 1.5', async () => {
  const old = async () => ({ outcome: 'quota-exceeded', limit: 'maxBytes' }) as never
  const store = createStore({ ...createMemoryDriver(new Tables()), transfer: old })
  await expect(store.transfer({ ...REFERENCE, from: 'a', to: 'b' })).rejects.toThrow(
    new TypeError('createStore: the driver returned an unknown outcome (got "quota-exceeded").'),
  )
})

it('calls the methods of a driver on the driver', async () => {
  const driver = {
    ...createMemoryDriver(new Tables()),
    counts: { waiting: 1, claimed: 2, retrying: 3 },
    async countEvents() {
      return this.counts
    },
  }
  expect(await createStore(driver).countEvents()).toEqual({ waiting: 1, claimed: 2, retrying: 3 })
})

it('returns no row of another scope if the driver ignores the scope', async () => {
  const tables = new Tables()
  seed(tables, [{ ...REFERENCE, scope: 'user:1', id: idNumber(1) }], NOON)
  const driver = createMemoryDriver(tables)
  const store = createStore({
    ...driver,
    find: (query) => driver.find({ ...query, scope: null }),
    findActive: (query) => driver.findActive({ ...query, scope: null }),
    findById: (query) => driver.findById({ ...query, scope: null }),
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
