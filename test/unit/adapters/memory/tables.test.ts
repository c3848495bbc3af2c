import { describe, expect, it } from 'vitest'
import { createMemoryDriver } from '../../../../src/adapters/memory/memory-driver.js'
import { Tables } from '../../../../src/adapters/memory/tables.js'
import { NOTHING_LIVE, type TrackedRow } from '../../../../src/core/store/lifecycle.js'
import { createStore } from '@svc/db'
import { activeRow, deletedRow, idNumber, pendingRow } from '../../core/rows.js'
import { afterNoon, NOON } from '../../core/settable-clock.js'

const PLACE = { bucket: 'photos', key: 'a.png' }

function put(tables: Tables, row: TrackedRow): void {
  const before = tables.liveRows(row)
  tables.apply({ before, after: { ...before, [row.status]: row }, history: null, leftovers: [], row })
}

describe('the tables of the memory adapter', () => {
  it('keep nothing of a scope, a route or a place whose last row is gone', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const input = { ...PLACE, scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1), route: 'avatars' }
    await store.reserve(input)
    expect(tables.rows('user:1', null)).not.toBeNull()
    expect(tables.rows('user:1', 'avatars')).not.toBeNull()
    await store.release(PLACE)
    expect(tables.rows('user:1', null)).toBeNull()
    expect(tables.expiringIn('user:1')).toBeNull()
    expect(tables.expiring.size).toBe(0)

    await store.reserve(input)
    await store.confirm({ ...PLACE, size: 5 })
    await store.remove(PLACE)
    expect(tables.rows('user:1', 'avatars')?.deleted.size).toBe(1)
    expect(await store.purgeDeleted({ before: NOON })).toBe(1)
    expect(tables.rows('user:1', null)).toBeNull()
    expect(tables.deleted.size).toBe(0)
    expect(tables.newestDeleted(PLACE)).toBeNull()
  })

  it('keep the rest of the history of a place whose oldest row is dropped', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    for (const number of [1, 2]) tables.addHistory(deletedRow({ id: idNumber(number) }))
    expect(await store.purgeDeleted({ before: NOON, limit: 1 })).toBe(1)
    expect(await store.find(PLACE)).toMatchObject({ id: idNumber(2) })
    expect(await store.countByScope('user:1', 'deleted')).toBe(1)
  })

  it('keep a scope that has rows of another route, and drop the route', async () => {
    const tables = new Tables()
    const store = createStore(createMemoryDriver(tables), { now: () => NOON })
    const input = { bucket: 'photos', scope: 'user:1', declaredSize: 5, expiresAt: afterNoon(1) }
    await store.reserve({ ...input, key: 'a', route: 'avatars' })
    await store.reserve({ ...input, key: 'b', route: 'videos' })
    await store.release({ bucket: 'photos', key: 'a' })
    expect(tables.rows('user:1', 'avatars')).toBeNull()
    expect(tables.rows('user:1', 'videos')).not.toBeNull()
  })

  it('keep nothing of a leftover that was forgotten', () => {
    const tables = new Tables()
    const { id: attemptId } = pendingRow()
    const leftover = {
      ...PLACE,
      attemptId,
      storageKey: 'stored',
      uploadId: null,
      since: NOON,
      writableUntil: NOON,
    }
    const pending = pendingRow()
    put(tables, pending)
    const before = tables.liveRows(PLACE)
    tables.apply({ before, after: NOTHING_LIVE, history: null, leftovers: [leftover], row: pending })
    expect(tables.leftovers.size).toBe(1)
    expect(tables.forgetLeftover(attemptId)).toBe(true)
    expect(tables.leftovers.size).toBe(0)
    expect(tables.forgetLeftover(attemptId)).toBe(false)
  })

  it('name each scope that a change touched once', () => {
    const tables = new Tables()
    const lapsed = pendingRow({ scope: 'user:1', id: idNumber(1) })
    put(tables, lapsed)
    const taken = pendingRow({ scope: 'user:2', id: idNumber(2) })
    const before = tables.liveRows(PLACE)
    const after = { active: null, pending: taken }
    expect(tables.apply({ before, after, history: null, leftovers: [], row: taken })).toEqual([
      'user:1',
      'user:2',
    ])
    const confirmed = { active: activeRow({ scope: 'user:2', id: idNumber(2) }), pending: null }
    const change = { before: after, after: confirmed, history: null, leftovers: [], row: confirmed.active }
    expect(tables.apply(change)).toEqual(['user:2'])
  })
})

describe('counters that went wrong', () => {
  /** Tables in which the counters of user:1 say 60 bytes more than its rows, and those of user:2 are right. */
  function tablesGoneWrong(): Tables {
    const tables = new Tables()
    put(tables, activeRow({ scope: 'user:2', key: 'b.png', id: idNumber(3), size: 7 }))
    put(tables, activeRow({ id: idNumber(1), size: 40 }))
    put(tables, pendingRow({ id: idNumber(2), declaredSize: 50 }))
    put(tables, pendingRow({ id: idNumber(4), key: 'c.png', declaredSize: 5 }))
    tables.addHistory(deletedRow({ id: idNumber(5), size: 1000 }))
    const { active, pending } = tables.liveRows(PLACE)
    const before = {
      active: active && { ...active, size: 0 },
      pending: pending && { ...pending, declaredSize: 0 },
    }
    tables.apply({ before, after: { active, pending }, history: null, leftovers: [], row: active! })
    return tables
  }

  const actual = { bytes: 40, files: 1, reservedBytes: 15, reservedFiles: 1 }
  const recorded = { bytes: 80, files: 1, reservedBytes: 25, reservedFiles: 1 }
  const difference = { scope: 'user:1', recorded, actual }

  it('are reported by checkUsage, which changes nothing', async () => {
    const store = createStore(createMemoryDriver(tablesGoneWrong()))
    expect(await store.checkUsage()).toEqual([difference])
    expect(await store.checkUsage('user:1')).toEqual([difference])
    expect(await store.checkUsage('user:2')).toEqual([])
    expect(await store.checkUsage('nobody')).toEqual([])
    expect(await store.getScopeUsage('user:1')).toEqual(recorded)
  })

  it('are corrected by repairUsage, which reports the same', async () => {
    const store = createStore(createMemoryDriver(tablesGoneWrong()))
    expect(await store.repairUsage('user:2')).toEqual([])
    expect(await store.repairUsage()).toEqual([difference])
    expect(await store.getScopeUsage('user:1')).toEqual(actual)
    expect(await store.repairUsage()).toEqual([])
  })

  it('are reported as copies', async () => {
    const store = createStore(createMemoryDriver(tablesGoneWrong()))
    const [reported] = await store.repairUsage()
    Object.assign(reported!.actual, { bytes: -1 })
    expect(await store.getScopeUsage('user:1')).toEqual(actual)
  })
})
