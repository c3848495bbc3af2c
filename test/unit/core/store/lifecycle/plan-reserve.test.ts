import { describe, expect, it } from 'vitest'
import type { ReserveCommand } from '@svc/db'
import { NOTHING_LIVE, planReserve, type LiveRows } from '../../../../../src/core/store/lifecycle.js'
import { NO_USAGE } from '../../../../../src/core/store/usage.js'
import { activeRow, idNumber, pendingRow } from '../../rows.js'
import { afterNoon, NOON } from '../../settable-clock.js'
import { reserveCommand } from './commands.js'

const FULL = { maxBytes: 0, maxFiles: 0 }
const active = activeRow({ id: idNumber(1), attemptId: idNumber(2), storageKey: 'stored/active' })
const pending = pendingRow({ id: idNumber(3), storageKey: 'stored/pending' })
const both: LiveRows = { active, pending }

function plan(before: LiveRows, fields: Partial<ReserveCommand> = {}, usage = NO_USAGE) {
  return planReserve(before, usage, reserveCommand(fields))
}

describe('a reserve is refused in this order:', () => {
  // Each call fails its own check and all later ones.
  const quota = { quota: FULL, declaredSize: 1000 }
  const overwrite = { ...quota, overwrite: false }
  const reused = { ...overwrite, id: idNumber(2), storageKey: 'stored/pending' }
  const full = { ...NO_USAGE, bytes: Number.MAX_SAFE_INTEGER }

  it('a key that is live in another scope', () => {
    expect(plan(both, { ...reused, scope: 'user:2' }, full)).toEqual({ outcome: 'key-conflict' })
  })

  it('then an id that is already used', () => {
    expect(plan(both, reused, full)).toEqual({ outcome: 'reused', field: 'id' })
  })

  it('then a storage key that is already used', () => {
    expect(plan(both, { ...reused, id: idNumber(9) }, full)).toEqual({
      outcome: 'reused',
      field: 'storageKey',
    })
  })

  it('then an active row that must not be overwritten', () => {
    expect(plan(both, overwrite, full)).toEqual({ outcome: 'key-conflict' })
  })

  it('then the quota', () => {
    expect(plan(both, quota, full)).toMatchObject({ outcome: 'quota-exceeded' })
  })

  it('then the sum', () => {
    expect(plan(both, { declaredSize: 1000 }, full)).toEqual({ outcome: 'sum-too-large' })
  })

  it('and for nothing else', () => {
    expect(plan(both)).toMatchObject({ outcome: 'change' })
  })
})

describe('a key of another scope', () => {
  const stranger = { scope: 'user:2' }

  it('is refused if it has an active row, an unexpired reservation, or both', () => {
    for (const before of [both, { active, pending: null }, { active: null, pending }]) {
      expect(plan(before, stranger)).toEqual({ outcome: 'key-conflict' })
    }
  })

  it('is refused if it has an active row and an expired replacement', () => {
    const expired = pendingRow({ expiresAt: afterNoon(-1) })
    expect(plan({ active, pending: expired }, stranger)).toEqual({ outcome: 'key-conflict' })
  })

  it('is free if it has only an expired reservation, to the millisecond', () => {
    const expired = pendingRow({ expiresAt: NOON })
    const running = pendingRow({ expiresAt: afterNoon(1) })
    expect(plan({ active: null, pending: expired }, stranger)).toMatchObject({
      outcome: 'change',
      before: { pending: expired },
      after: { active: null, pending: { scope: 'user:2' } },
    })
    expect(plan({ active: null, pending: running }, stranger)).toEqual({ outcome: 'key-conflict' })
  })

  it('counts the whole reservation for the new scope', () => {
    const expired = pendingRow({ declaredSize: 100, expiresAt: NOON })
    const before = { active: null, pending: expired }
    const fields = { ...stranger, declaredSize: 40 }
    expect(plan(before, { ...fields, quota: { maxBytes: 40, maxFiles: 1 } })).toMatchObject({
      outcome: 'change',
    })
    expect(plan(before, { ...fields, quota: { maxBytes: 39, maxFiles: 1 } })).toMatchObject({
      requested: 40,
      used: 0,
    })
  })

  it('keeps its expired id and storage key reserved', () => {
    const expired = pendingRow({ id: idNumber(3), storageKey: 'stored/expired', expiresAt: NOON })
    const before = { active: null, pending: expired }
    expect(plan(before, { ...stranger, id: expired.id })).toEqual({ outcome: 'reused', field: 'id' })
    expect(plan(before, { ...stranger, storageKey: 'stored/expired' })).toEqual({
      outcome: 'reused',
      field: 'storageKey',
    })
  })
})

describe('an id or a storage key', () => {
  it.each([
    ['the id of the active row', { id: active.id }, 'id'],
    ['the attempt that made the active row', { id: active.attemptId }, 'id'],
    ['the storage key of the active row', { storageKey: 'stored/active' }, 'storageKey'],
    ['the storage key of the pending row', { storageKey: 'stored/pending' }, 'storageKey'],
  ])('is refused if it is %s', (_what, fields, field) => {
    expect(plan(both, fields)).toEqual({ outcome: 'reused', field })
  })

  it('is not reused if both are null', () => {
    const before = { active: activeRow({ storageKey: null }), pending: null }
    expect(plan(before, { storageKey: null })).toMatchObject({ outcome: 'change' })
  })

  it('of the pending row, by the same scope, returns the row unchanged', () => {
    const repeat = {
      id: pending.id,
      declaredSize: 5000,
      storageKey: 'stored/other',
      overwrite: false,
      quota: FULL,
    }
    expect(plan(both, repeat)).toEqual({ outcome: 'unchanged', row: pending })
  })

  it('of an expired pending row is also a repeat', () => {
    const expired = pendingRow({ expiresAt: afterNoon(-1) })
    expect(plan({ active: null, pending: expired }, { id: expired.id })).toEqual({
      outcome: 'unchanged',
      row: expired,
    })
  })
})

describe('an accepted reserve', () => {
  it('creates a pending row with the given fields and the current time', () => {
    const command = reserveCommand({
      route: 'avatars',
      filename: 'me.png',
      contentType: 'image/png',
      metadata: { a: 'b' },
      storageKey: 'stored/new',
      uploadId: 'upload',
    })
    const made = planReserve(NOTHING_LIVE, NO_USAGE, command)
    expect(made.outcome === 'change' && made.row).toStrictEqual({
      id: idNumber(50),
      attemptId: idNumber(50),
      scope: 'user:1',
      bucket: 'photos',
      key: 'a.png',
      status: 'pending',
      route: 'avatars',
      filename: 'me.png',
      contentType: 'image/png',
      size: null,
      declaredSize: 10,
      eTag: null,
      metadata: { a: 'b' },
      storageKey: 'stored/new',
      uploadId: 'upload',
      expiresAt: afterNoon(60_000),
      createdAt: NOON,
      updatedAt: NOON,
      confirmedAt: null,
      deletedAt: null,
      writableUntil: afterNoon(60_000),
    })
  })

  it('keeps the active row', () => {
    const made = plan(both)
    expect(made.outcome === 'change' && made.after.active).toBe(active)
  })

  it('displaces the earlier attempt and records its leftover', () => {
    expect(plan(both)).toMatchObject({
      after: { pending: { id: idNumber(50) } },
      history: null,
      leftovers: [
        {
          attemptId: pending.id,
          bucket: 'photos',
          key: 'a.png',
          storageKey: 'stored/pending',
          uploadId: null,
          since: NOON,
          writableUntil: pending.writableUntil,
        },
      ],
    })
  })

  it('records no leftover without a storage key and an upload id', () => {
    const before = { active: null, pending: pendingRow({ storageKey: null, uploadId: null }) }
    expect(plan(before)).toMatchObject({ outcome: 'change', leftovers: [] })
  })

  it('frees the reservation of the earlier attempt', () => {
    const before = { active: null, pending: pendingRow({ declaredSize: 100 }) }
    const usage = { ...NO_USAGE, reservedBytes: 100, reservedFiles: 1 }
    const quota = { maxBytes: 110, maxFiles: 1 }
    expect(plan(before, { declaredSize: 110, quota }, usage)).toMatchObject({ outcome: 'change' })
    expect(plan(before, { declaredSize: 111, quota }, usage)).toMatchObject({ used: 100, requested: 11 })
  })
})
