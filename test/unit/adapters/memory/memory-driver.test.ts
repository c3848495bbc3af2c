import { beforeEach, describe, expect, it } from 'vitest'
import { createAttemptId, type StoreDriver } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { seed } from '../../../../src/adapters/memory/seed.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import {
  adoptCommand,
  confirmCommand,
  reserveCommand,
  UNLIMITED,
} from '../../core/store/lifecycle/commands.js'
import { idNumber } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const at = (key: string) => ({ bucket: 'photos', key, now: NOON })

describe('the memory driver reports the touched scopes of', () => {
  let driver: StoreDriver

  beforeEach(() => {
    const owned = { scope: 'user:1', bucket: 'photos' }
    const tables = new Tables()
    seed(
      tables,
      [
        { ...owned, key: 'active', id: idNumber(1), eTag: 'etag' },
        { ...owned, key: 'pending', id: idNumber(2), status: 'pending', declaredSize: 5 },
        { ...owned, key: 'expired', id: idNumber(3), status: 'pending', expiresAt: afterNoon(-2) },
        {
          ...owned,
          key: 'expired 2',
          id: idNumber(4),
          scope: 'user:2',
          status: 'pending',
          expiresAt: afterNoon(-1),
        },
        { ...owned, key: 'expired 3', id: idNumber(5), status: 'pending', expiresAt: NOON },
        { ...owned, key: 'deleted', id: idNumber(6), status: 'deleted' },
        { ...owned, key: 'deleted', id: idNumber(7), scope: 'user:2', status: 'deleted' },
      ],
      NOON,
    )
    driver = createMemoryDriver(tables)
  })

  it('a write of one scope', async () => {
    expect(await driver.reserve(reserveCommand({ key: 'new', scope: 'user:3' }))).toMatchObject({
      scopes: ['user:3'],
    })
    expect(await driver.setUploadId({ ...at('pending'), id: idNumber(2), uploadId: 'upload' })).toMatchObject(
      { scopes: ['user:1'] },
    )
    expect(await driver.confirm(confirmCommand({ key: 'pending' }))).toMatchObject({ scopes: ['user:1'] })
    expect(
      await driver.remove({ ...at('pending'), scope: null, attemptId: null, mode: 'soft' }),
    ).toMatchObject({
      scopes: ['user:1'],
    })
    expect(await driver.release({ ...at('expired'), id: null, scope: null, uploadId: null })).toMatchObject({
      scopes: ['user:1'],
    })
  })

  it('a reserve that replaces an expired reservation of another scope', async () => {
    const outcome = await driver.reserve(reserveCommand({ key: 'expired', scope: 'user:3' }))
    expect(outcome).toMatchObject({ outcome: 'reserved', scopes: ['user:1', 'user:3'] })
  })

  it('a transfer: both, also if it finds its work done', async () => {
    const command = { ...at('active'), from: 'user:1', to: 'user:2', attemptId: null, quota: UNLIMITED }
    const both = { outcome: 'transferred', row: { scope: 'user:2' }, scopes: ['user:1', 'user:2'] }
    expect(await driver.transfer!(command)).toMatchObject(both)
    expect(await driver.transfer!(command)).toMatchObject(both)
    const same = await driver.transfer!({ ...command, from: 'user:2' })
    expect(same).toMatchObject({ outcome: 'transferred', scopes: ['user:2'] })
    const nothing = { outcome: 'transferred', row: null, scopes: [] }
    expect(await driver.transfer!({ ...command, from: 'user:1', to: 'user:3' })).toEqual(nothing)
  })

  it('an adopt: that of an expired reservation too, and that of an object that has the bytes', async () => {
    const command = adoptCommand({ key: 'expired', scope: 'user:3' })
    expect(await driver.adopt!(command)).toMatchObject({ outcome: 'adopted', scopes: ['user:1', 'user:3'] })
    expect(await driver.adopt!(command)).toMatchObject({ outcome: 'adopted', scopes: ['user:3'] })
    const other = adoptCommand({ id: idNumber(60), key: 'other', scope: 'user:4' })
    expect(await driver.adopt!(other)).toMatchObject({ outcome: 'known', scopes: ['user:3'] })
    await driver.remove({ ...at('expired'), scope: null, attemptId: null, mode: 'hard' })
    expect(await driver.adopt!(other)).toEqual({ outcome: 'known', object: null, scopes: [] })
  })

  it('an update: that of the row it returns', async () => {
    const command = { ...at('active'), scope: null, attemptId: null, changes: { filename: 'a' } }
    for (let repeat = 0; repeat < 2; repeat++) {
      expect(await driver.update!(command)).toMatchObject({ scopes: ['user:1'] })
    }
    expect(await driver.update!({ ...command, scope: 'user:2' })).toEqual({ row: null, scopes: [] })
  })

  it('a purge, each scope once', async () => {
    const purged = await driver.purgeExpired({ scope: null, before: NOON, limit: 100, now: NOON })
    expect(purged.rows.map(({ key }) => key)).toEqual(['expired', 'expired 2', 'expired 3'])
    expect(purged.scopes).toEqual(['user:1', 'user:2'])
    const dropped = await driver.purgeDeleted({ scope: null, before: NOON, limit: 100 })
    expect(dropped).toEqual({ dropped: 2, scopes: ['user:1', 'user:2'] })
  })

  it('a purge of one scope, and none if nothing has expired', async () => {
    const purge = (scope: string, before = NOON) =>
      driver.purgeExpired({ scope, before, limit: 100, now: NOON })
    expect(await purge('user:1', afterNoon(-3))).toEqual({ rows: [], scopes: [] })
    expect(await purge('unknown')).toEqual({ rows: [], scopes: [] })
    expect(await purge('user:2')).toMatchObject({ rows: [{ key: 'expired 2' }], scopes: ['user:2'] })
    expect(await driver.listExpired({ scope: 'user:2', before: NOON, limit: 100, after: null })).toEqual([])
    expect(await driver.listExpired({ scope: 'unknown', before: NOON, limit: 100, after: null })).toEqual([])
  })

  it('a repeat of a write whose response may have been lost', async () => {
    const own = { scopes: ['user:1'] }
    const repeat = reserveCommand({ key: 'pending', id: idNumber(2) })
    expect(await driver.reserve(repeat)).toMatchObject({ outcome: 'reserved', ...own })
    const upload = { ...at('pending'), id: idNumber(2), uploadId: 'upload' }
    await driver.setUploadId(upload)
    expect(await driver.setUploadId(upload)).toMatchObject({ outcome: 'set', ...own })
    const again = confirmCommand({ key: 'active', id: idNumber(1), size: 0 })
    expect(await driver.confirm(again)).toMatchObject({ outcome: 'confirmed', ...own })
  })

  it('a write that finds nothing: none', async () => {
    const nothing = { row: null, scopes: [] }
    expect(await driver.release({ ...at('active'), id: null, scope: null, uploadId: null })).toEqual(nothing)
    expect(await driver.remove({ ...at('missing'), scope: null, attemptId: null, mode: 'hard' })).toEqual(
      nothing,
    )
    expect(await driver.purgeDeleted({ scope: null, before: afterNoon(-1), limit: 100 })).toEqual({
      dropped: 0,
      scopes: [],
    })
  })
})

describe('the memory driver', () => {
  it('returns an outcome, not an error, when it refuses a write', async () => {
    const driver = createMemoryDriver(new Tables())
    const tooMuch = reserveCommand({ quota: { maxBytes: 0, maxFiles: null } })
    expect(await driver.reserve(tooMuch)).toMatchObject({ outcome: 'quota-exceeded' })
    expect(await driver.confirm(confirmCommand())).toEqual({ outcome: 'not-found' })
    const upload = { ...at('a'), id: idNumber(1), uploadId: 'upload' }
    expect(await driver.setUploadId(upload)).toEqual({ outcome: 'not-found' })

    expect(await driver.adopt!(adoptCommand({ key: 'a' }))).toMatchObject({ outcome: 'adopted' })
    const other = adoptCommand({ key: 'a', storageKey: 'other' })
    expect(await driver.adopt!(other)).toEqual({ outcome: 'key-conflict' })
    const owners = { from: 'user:1', to: 'user:2', attemptId: null }
    const quota = { maxBytes: null, maxFiles: 0 }
    expect(await driver.transfer!({ ...at('a'), ...owners, quota })).toMatchObject({
      outcome: 'quota-exceeded',
      limit: 'maxFiles',
    })
  })
})

describe('the option events', () => {
  const objects = [{ scope: 'user:1', bucket: 'photos', key: 'a' }]

  it.each([undefined, null, false])('is off by default: %s', async (events) => {
    const store = memoryAdapter({ objects, events })
    await store.update({ bucket: 'photos', key: 'a', filename: 'a' })
    expect(await store.claimEvents()).toEqual([])
    expect(await store.settleEvents([{ id: 'event', claim: 'claim' }])).toEqual([])
    expect(await store.extendClaims([{ id: 'event', claim: 'claim' }])).toEqual([])
    expect(await store.listEvents()).toEqual({ items: [], next: null })
    expect(await store.countEvents()).toEqual({ waiting: 0, claimed: 0, retrying: 0 })
  })

  it('records changes from the start, but no seed records', async () => {
    const store = memoryAdapter({ objects, events: true })
    expect(await store.countEvents()).toMatchObject({ waiting: 0 })
    await store.update({ bucket: 'photos', key: 'a', filename: 'a' })
    await store.migrate()
    expect(await store.claimEvents()).toMatchObject([{ type: 'updated', object: { filename: 'a' } }])
  })
})

describe('the memory adapter', () => {
  it('keeps both objects that were given one id, and finds the one of the scope', async () => {
    const store = memoryAdapter()
    const expiresAt = new Date(Date.now() + 60_000)
    const id = createAttemptId()
    for (const owner of ['a', 'b']) {
      await store.reserve({ id, scope: owner, bucket: 'bucket', key: owner, declaredSize: 1, expiresAt })
    }
    expect(await store.findById({ id, scope: 'b' })).toMatchObject({ key: 'b' })
    await store.release({ bucket: 'bucket', key: 'b' })
    expect(await store.findById({ id })).toMatchObject({ key: 'a' })
    expect(await store.findById({ id, scope: 'b' })).toBeNull()
    expect(await store.listScopes()).toMatchObject([{ scope: 'a', counts: { pending: 1 } }])
  })

  it('needs no migration, verifies without findings and stays usable after close()', async () => {
    const store = memoryAdapter()
    expect(await store.migrate()).toEqual({ from: 0, to: 0 })
    expect(await store.verify()).toEqual([])
    await expect(store.ping()).resolves.toBeUndefined()
    await store.close()
    expect(await store.countByScope('user:1')).toBe(0)
  })

  it('shares no data between two stores', async () => {
    const [one, other] = [memoryAdapter(), memoryAdapter()]
    await one.reserve({
      scope: 'a',
      bucket: 'b',
      key: 'c',
      declaredSize: 1,
      expiresAt: new Date(Date.now() + 60_000),
    })
    expect(await one.countByScope('a')).toBe(1)
    expect(await other.countByScope('a')).toBe(0)
  })
})

it('refuses an option events that is not a boolean', () => {
  expect(() => memoryAdapter({ events: 'on' as unknown as boolean })).toThrow(
    new TypeError('memoryAdapter: events must be true or false (got "on").'),
  )
})
