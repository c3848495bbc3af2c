import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { datePosition, endOfDate } from '../../../../src/adapters/memory/date-position.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { NOTHING_LIVE, type TrackedRow } from '../../../../src/core/store/lifecycle.js'
import { createStore } from '@svc/db'
import { activeRow, deletedRow, idNumber, pendingRow } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const KEY = { bucket: 'photos', key: 'a.png' }

function put(tables: Tables, row: TrackedRow): void {
  const before = tables.liveRows(row)
  tables.apply({
    before,
    after: { ...before, [row.status]: row },
    history: null,
    leftovers: [],
    event: null,
    row,
  })
}

describe('the tables of the memory adapter', () => {
  it('drop a scope, a route and a key with their last row', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const input = { ...KEY, scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1), route: 'avatars' }
    await store.reserve(input)
    expect(tables.rows('user:1', null)).not.toBeNull()
    expect(tables.rows('user:1', 'avatars')).not.toBeNull()
    await store.release(KEY)
    expect(tables.rows('user:1', null)).toBeNull()
    expect(tables.expiring('user:1')).toBeNull()
    expect(tables.expiring(null)?.size).toBe(0)

    await store.reserve(input)
    await store.confirm({ ...KEY, size: 5 })
    await store.remove(KEY)
    expect(tables.rows('user:1', 'avatars')?.deleted.size).toBe(1)
    expect(await store.purgeDeleted({ before: NOON })).toBe(1)
    expect(tables.rows('user:1', null)).toBeNull()
    expect(tables.deleted(null)?.size).toBe(0)
    expect(tables.newestDeleted(KEY)).toBeNull()
  })

  it('keep newer history of a key when its oldest row is purged', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    for (const number of [1, 2]) tables.addHistory(deletedRow({ id: idNumber(number) }))
    expect(await store.purgeDeleted({ before: NOON, limit: 1 })).toBe(1)
    expect(await store.find(KEY)).toMatchObject({ id: idNumber(2) })
    expect(await store.countByScope('user:1', 'deleted')).toBe(1)
  })

  it('drop an empty route, but keep its scope while it has other rows', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const input = { bucket: 'photos', scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1) }
    await store.reserve({ ...input, key: 'a', route: 'avatars' })
    await store.reserve({ ...input, key: 'b', route: 'videos' })
    await store.release({ bucket: 'photos', key: 'a' })
    expect(tables.rows('user:1', 'avatars')).toBeNull()
    expect(tables.rows('user:1', 'videos')).not.toBeNull()
  })

  it('drop a leftover that is forgotten', () => {
    const tables = new Tables()
    const { id: attemptId } = pendingRow()
    const leftover = {
      ...KEY,
      attemptId,
      scope: 'user:1',
      storageKey: 'stored',
      uploadId: null,
      since: NOON,
      writableUntil: NOON,
      dueAt: null,
    }
    const pending = pendingRow()
    put(tables, pending)
    const before = tables.liveRows(KEY)
    tables.apply({
      before,
      after: NOTHING_LIVE,
      history: null,
      leftovers: [leftover],
      event: null,
      row: pending,
    })
    for (const scope of [null, 'user:1']) expect(tables.leftovers.of(scope)?.bySince.size).toBe(1)
    expect(tables.leftovers.forget(attemptId)).toBe(true)
    expect(tables.leftovers.of(null)?.byDue.size).toBe(0)
    expect(tables.leftovers.of('user:1')).toBeNull()
    expect(tables.leftovers.forget(attemptId)).toBe(false)
  })

  it('keep nothing of an object that was adopted, updated, transferred and purged', async () => {
    const tables = new Tables({ events: true })
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const bytes = { storageKey: 'stored', size: 5, createdAt: NOON }
    const { object } = await store.adopt({ ...KEY, ...bytes, scope: 'user:1', route: 'avatars' })
    await store.update({ ...KEY, filename: 'a' })
    await store.reserve({
      ...KEY,
      scope: 'user:1',
      declaredSize: 9,
      expiresAt: afterNoon(1),
      storageKey: 'new',
    })
    await store.transfer({ ...KEY, from: 'user:1', to: 'user:2' })
    expect(tables.rows('user:1', null)).toBeNull()
    expect(tables.scopes(null, 10).map(({ scope }) => scope)).toEqual(['user:2'])
    expect(tables.expiring(null)?.size).toBe(0)
    expect(tables.rowWithId(object!.id, 'user:2')).not.toBeNull()

    await store.remove(KEY)
    expect(await store.purgeDeleted({ before: NOON })).toBe(1)
    expect(tables.scopes(null, 10)).toEqual([])
    expect(tables.rowWithId(object!.id, null)).toBeNull()
    const leftovers = await store.listLeftovers()
    expect(leftovers.map(({ storageKey, scope }) => [storageKey, scope])).toEqual(
      expect.arrayContaining([
        ['stored', 'user:2'],
        ['new', 'user:1'],
      ]),
    )
    expect(tables.names.buckets).toBe(1)
    for (const { attemptId } of leftovers) await store.forgetLeftover({ attemptId })
    expect(tables.names.buckets).toBe(0)

    while ((await store.countEvents()).waiting > 0) await store.settleEvents(await store.claimEvents())
    expect(tables.events.sizes).toEqual({ events: 0, objects: 0, due: 0 })
  })

  it('name the same bytes before and after a leftover is put off', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const bytes = { storageKey: 'stored', size: 5, createdAt: NOON }
    await store.adopt({ ...KEY, ...bytes, scope: 'user:1' })
    await store.remove({ ...KEY, mode: 'hard' })
    const [leftover] = await store.listLeftovers()
    await store.deferLeftover({ attemptId: leftover!.attemptId, until: afterNoon(5) })
    expect(await store.listStored({ bucket: 'photos' })).toEqual([
      { storageKey: 'stored', leftover: { ...leftover, dueAt: afterNoon(5) } },
    ])
  })

  it('return each touched scope of a change once', () => {
    const tables = new Tables()
    const expired = pendingRow({ scope: 'user:1', id: idNumber(1) })
    put(tables, expired)
    const taken = pendingRow({ scope: 'user:2', id: idNumber(2) })
    const before = tables.liveRows(KEY)
    const after = { active: null, pending: taken }
    expect(tables.apply({ before, after, history: null, leftovers: [], event: null, row: taken })).toEqual([
      'user:1',
      'user:2',
    ])
    const confirmed = { active: activeRow({ scope: 'user:2', id: idNumber(2) }), pending: null }
    const change = {
      before: after,
      after: confirmed,
      history: null,
      leftovers: [],
      event: null,
      row: confirmed.active,
    }
    expect(tables.apply(change)).toEqual(['user:2'])
  })
})

describe('wrong usage counters', () => {
  /** Returns tables whose counters are too high for user:1 and right for user:2. */
  function tablesWithWrongUsage(): Tables {
    const tables = new Tables()
    put(tables, activeRow({ scope: 'user:2', key: 'b.png', id: idNumber(3), size: 7 }))
    put(tables, activeRow({ id: idNumber(1), size: 40 }))
    put(tables, pendingRow({ id: idNumber(2), declaredSize: 50 }))
    put(tables, pendingRow({ id: idNumber(4), key: 'c.png', declaredSize: 5 }))
    tables.addHistory(deletedRow({ id: idNumber(5), size: 1000 }))
    const { active, pending } = tables.liveRows(KEY)
    const before = {
      active: active && { ...active, size: 0 },
      pending: pending && { ...pending, declaredSize: 0 },
    }
    tables.apply({
      before,
      after: { active, pending },
      history: null,
      leftovers: [],
      event: null,
      row: active!,
    })
    return tables
  }

  const actual = { bytes: 40, files: 1, reservedBytes: 15, reservedFiles: 1 }
  const recorded = { bytes: 80, files: 1, reservedBytes: 25, reservedFiles: 1 }
  const difference = { scope: 'user:1', recorded, actual }

  it('are reported by checkUsage, which does not change them', async () => {
    const store = createStore(createMemoryDriver(tablesWithWrongUsage()))
    expect(await store.checkUsage()).toEqual([difference])
    expect(await store.checkUsage('user:1')).toEqual([difference])
    expect(await store.checkUsage('user:2')).toEqual([])
    expect(await store.checkUsage('unknown')).toEqual([])
    expect(await store.getScopeUsage('user:1')).toEqual(recorded)
  })

  it('are reported and corrected by repairUsage', async () => {
    const store = createStore(createMemoryDriver(tablesWithWrongUsage()))
    expect(await store.repairUsage('user:2')).toEqual([])
    expect(await store.repairUsage()).toEqual([difference])
    expect(await store.getScopeUsage('user:1')).toEqual(actual)
    expect(await store.repairUsage()).toEqual([])
  })

  it('are reported as copies', async () => {
    const store = createStore(createMemoryDriver(tablesWithWrongUsage()))
    const [reported] = await store.repairUsage()
    Object.assign(reported!.actual, { bytes: -1 })
    expect(await store.getScopeUsage('user:1')).toEqual(actual)
  })
})

const date = fc.date({
  min: new Date('0001-01-01T00:00:00.000Z'),
  max: new Date('9999-12-31T23:59:59.999Z'),
  noInvalidDate: true,
})
const id = fc.uuid({ version: 7 })

describe('the sort key of a row', () => {
  it('sorts by date, from year 1 to 9999, then by id', () => {
    fc.assert(
      fc.property(date, id, fc.oneof(date, fc.constant(null)), id, (one, oneId, other, otherId) => {
        const otherDate = other ?? one
        const expected =
          one.getTime() - otherDate.getTime() || (oneId < otherId ? -1 : oneId > otherId ? 1 : 0)
        const [first, second] = [datePosition(one, oneId), datePosition(otherDate, otherId)]
        expect(Math.sign(first < second ? -1 : first > second ? 1 : 0)).toBe(Math.sign(expected))
      }),
    )
  })

  it('is less than the end of its date and greater than the end of the previous millisecond', () => {
    const later = date.filter((value) => value.getTime() > new Date('0001-01-01T00:00:00.000Z').getTime())
    fc.assert(
      fc.property(later, id, (value, rowId) => {
        expect(datePosition(value, rowId) < endOfDate(value)).toBe(true)
        expect(datePosition(value, rowId) > endOfDate(new Date(value.getTime() - 1))).toBe(true)
      }),
    )
  })
})
