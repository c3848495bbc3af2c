import { describe, expect, it } from 'vitest'
import type { AdoptCommand, TransferCommand, UpdateCommand } from '@svc/db'
import {
  NOTHING_LIVE,
  planAdopt,
  planTransfer,
  planUpdate,
  receivesBytes,
  type LiveRows,
} from '../../../../../src/core/store/lifecycle.js'
import { NO_USAGE } from '../../../../../src/core/store/usage.js'
import { activeRow, deletedRow, idNumber, pendingRow } from '../../rows.js'
import { afterNoon } from '../../settable-clock.js'
import { adoptCommand as someAdoptCommand, UNLIMITED } from './commands.js'

const REFERENCE = { bucket: 'photos', key: 'a.png' }
const LATER = afterNoon(5000)
const active = activeRow({
  id: idNumber(1),
  attemptId: idNumber(8),
  size: 100,
  filename: 'old.png',
  contentType: 'image/png',
  metadata: { a: '1', b: '2' },
  storageKey: 'stored/old',
})
const pending = pendingRow({ id: idNumber(2), storageKey: 'stored/new', uploadId: 'upload' })
const both: LiveRows = { active, pending }
const onlyActive: LiveRows = { active, pending: null }
const onlyPending: LiveRows = { active: null, pending }
const NOTHING = { outcome: 'unchanged', row: null }

describe('an update', () => {
  const updateCommand = (fields: Partial<UpdateCommand> = {}): UpdateCommand => ({
    ...REFERENCE,
    scope: null,
    attemptId: null,
    changes: { filename: 'new.png' },
    now: LATER,
    ...fields,
  })

  it('sets the given fields and updatedAt, and keeps the pending row', () => {
    const row = { ...active, filename: 'new.png', updatedAt: LATER }
    for (const before of [both, onlyActive]) {
      expect(planUpdate(before, updateCommand())).toStrictEqual({
        outcome: 'change',
        before,
        after: { active: row, pending: before.pending },
        history: null,
        leftovers: [],
        event: { type: 'updated', object: row, previous: active },
        row,
      })
    }
  })

  it.each([
    { filename: null },
    { contentType: 'image/webp' },
    { contentType: null },
    { metadata: null },
    { metadata: {} },
    { metadata: { a: '1' } },
    { metadata: { a: '1', b: '3' } },
    { metadata: { a: '1', c: '2' } },
    { metadata: { a: '1', b: '2', c: '3' } },
    { filename: null, contentType: null, metadata: null },
    { filename: 'old.png', contentType: null },
  ])('that changes a field: %o', (changes) => {
    const plan = planUpdate(both, updateCommand({ changes }))
    expect(plan).toMatchObject({ outcome: 'change', event: { type: 'updated' } })
    expect(plan.row).toStrictEqual({ ...active, ...changes, updatedAt: LATER })
  })

  it.each([
    { filename: 'old.png' },
    { contentType: 'image/png' },
    { metadata: { b: '2', a: '1' } },
    { filename: 'old.png', contentType: 'image/png', metadata: { a: '1', b: '2' } },
  ])('that changes nothing keeps updatedAt: %o', (changes) => {
    expect(planUpdate(both, updateCommand({ changes }))).toEqual({ outcome: 'unchanged', row: active })
  })

  it('that clears what is absent changes nothing', () => {
    const bare = activeRow()
    const changes = { filename: null, contentType: null, metadata: null }
    const plan = planUpdate({ active: bare, pending: null }, updateCommand({ changes }))
    expect(plan).toEqual({ outcome: 'unchanged', row: bare })
  })

  it('acts only on an active row of its scope and attempt', () => {
    for (const before of [NOTHING_LIVE, onlyPending]) {
      expect(planUpdate(before, updateCommand())).toEqual(NOTHING)
    }
    expect(planUpdate(both, updateCommand({ scope: 'user:2' }))).toEqual(NOTHING)
    for (const attemptId of [active.id, pending.id]) {
      expect(planUpdate(both, updateCommand({ attemptId }))).toEqual(NOTHING)
    }
    const exact = updateCommand({ scope: 'user:1', attemptId: active.attemptId })
    expect(planUpdate(both, exact).outcome).toBe('change')
  })
})

describe('a transfer', () => {
  const transferCommand = (fields: Partial<TransferCommand> = {}): TransferCommand => ({
    ...REFERENCE,
    from: 'user:1',
    to: 'user:2',
    attemptId: null,
    quota: UNLIMITED,
    now: LATER,
    ...fields,
  })
  const moved = { ...active, scope: 'user:2', updatedAt: LATER }

  it('gives the active row to the new owner', () => {
    expect(planTransfer(onlyActive, NO_USAGE, transferCommand())).toStrictEqual({
      outcome: 'change',
      before: onlyActive,
      after: { active: moved, pending: null },
      history: null,
      leftovers: [],
      event: { type: 'transferred', object: moved, previous: active },
      row: moved,
    })
  })

  it('ends a pending replacement, whose leftover stays with the old owner', () => {
    expect(planTransfer(both, NO_USAGE, transferCommand())).toMatchObject({
      outcome: 'change',
      after: { active: moved, pending: null },
      leftovers: [{ attemptId: pending.id, scope: 'user:1', storageKey: 'stored/new', since: LATER }],
    })
  })

  it('is a repeat that changes nothing if the new owner has the object', () => {
    const after = { active: moved, pending: null }
    expect(planTransfer(after, NO_USAGE, transferCommand())).toEqual({ outcome: 'unchanged', row: moved })
    const command = transferCommand({ quota: { maxBytes: 0, maxFiles: 0 }, attemptId: active.attemptId })
    expect(planTransfer(after, NO_USAGE, command)).toEqual({ outcome: 'unchanged', row: moved })
    const same = transferCommand({ to: 'user:1' })
    expect(planTransfer(both, NO_USAGE, same)).toEqual({ outcome: 'unchanged', row: active })
  })

  it('acts only on an active row of either scope and its attempt', () => {
    for (const before of [NOTHING_LIVE, onlyPending]) {
      expect(planTransfer(before, NO_USAGE, transferCommand())).toEqual(NOTHING)
    }
    expect(planTransfer(both, NO_USAGE, transferCommand({ from: 'user:3' }))).toEqual(NOTHING)
    for (const attemptId of [active.id, pending.id]) {
      expect(planTransfer(both, NO_USAGE, transferCommand({ attemptId }))).toEqual(NOTHING)
      expect(planTransfer(both, NO_USAGE, transferCommand({ attemptId, to: 'user:1' }))).toEqual(NOTHING)
    }
    const exact = transferCommand({ attemptId: active.attemptId })
    expect(planTransfer(both, NO_USAGE, exact).outcome).toBe('change')
  })

  it('checks the bytes and the file that the new owner gains against the quota', () => {
    const usage = { bytes: 50, files: 1, reservedBytes: 10, reservedFiles: 1 }
    const within = transferCommand({ quota: { maxBytes: 160, maxFiles: 3 } })
    expect(planTransfer(both, usage, within).outcome).toBe('change')
    expect(planTransfer(both, usage, transferCommand({ quota: { maxBytes: 159, maxFiles: 2 } }))).toEqual({
      outcome: 'quota-exceeded',
      limit: 'maxBytes',
      max: 159,
      used: 60,
      reserved: 10,
      requested: 100,
    })
    expect(planTransfer(both, usage, transferCommand({ quota: { maxBytes: null, maxFiles: 2 } }))).toEqual({
      outcome: 'quota-exceeded',
      limit: 'maxFiles',
      max: 2,
      used: 2,
      reserved: 1,
      requested: 1,
    })
  })

  it('is refused if the sum of the new owner would be too large', () => {
    const usage = { ...NO_USAGE, bytes: Number.MAX_SAFE_INTEGER - 100 }
    expect(planTransfer(both, usage, transferCommand()).outcome).toBe('change')
    const more = { ...usage, reservedBytes: 1 }
    expect(planTransfer(both, more, transferCommand()).outcome).toBe('sum-too-large')
  })
})

describe('an adopt', () => {
  const adoptCommand = (fields: Partial<AdoptCommand> = {}): AdoptCommand =>
    someAdoptCommand({
      eTag: 'etag',
      route: 'avatars',
      filename: 'me.png',
      contentType: 'image/png',
      metadata: { a: 'b' },
      now: LATER,
      ...fields,
    })
  const adopted = {
    ...REFERENCE,
    id: idNumber(50),
    attemptId: idNumber(50),
    scope: 'user:1',
    status: 'active',
    route: 'avatars',
    filename: 'me.png',
    contentType: 'image/png',
    size: 7,
    declaredSize: null,
    eTag: 'etag',
    metadata: { a: 'b' },
    storageKey: 'stored',
    uploadId: null,
    expiresAt: null,
    createdAt: afterNoon(-1000),
    updatedAt: LATER,
    confirmedAt: LATER,
    deletedAt: null,
    writableUntil: LATER,
  }
  const expired = pendingRow({ id: idNumber(2), expiresAt: LATER, storageKey: 'stored/new', declaredSize: 5 })
  const receiver = activeRow({ id: idNumber(1), size: 100, storageKey: null, eTag: 'old' })

  it('inserts an active row', () => {
    expect(planAdopt(NOTHING_LIVE, NO_USAGE, adoptCommand(), null)).toStrictEqual({
      outcome: 'change',
      before: NOTHING_LIVE,
      after: { active: adopted, pending: null },
      history: null,
      leftovers: [],
      event: { type: 'activated', object: adopted, previous: null },
      row: adopted,
    })
  })

  it('gives a row without a storage key the bytes, and changes nothing else of it', () => {
    const before = { active: receiver, pending: null }
    const row = { ...receiver, storageKey: 'stored', updatedAt: LATER }
    expect(planAdopt(before, NO_USAGE, adoptCommand(), null)).toStrictEqual({
      outcome: 'change',
      before,
      after: { active: row, pending: null },
      history: null,
      leftovers: [],
      event: { type: 'updated', object: row, previous: receiver },
      row,
    })
  })

  it('changes nothing if a live row or a leftover names the bytes, whatever is at the key', () => {
    for (const before of [NOTHING_LIVE, both, { active: receiver, pending: null }]) {
      const other = pendingRow({ key: 'other', storageKey: 'stored' })
      const known = { outcome: 'known', object: other }
      expect(planAdopt(before, NO_USAGE, adoptCommand(), other)).toEqual(known)
      const leftover = { outcome: 'known', object: null }
      expect(planAdopt(before, NO_USAGE, adoptCommand(), 'leftover')).toEqual(leftover)
    }
  })

  it('is a repeat that changes nothing if the row that names the bytes has its id', () => {
    const row = activeRow({ id: idNumber(50), storageKey: 'stored' })
    const plan = planAdopt({ active: row, pending: null }, NO_USAGE, adoptCommand(), row)
    expect(plan).toEqual({ outcome: 'unchanged', row })
  })

  it.each<[string, LiveRows]>([
    ['an active row with other bytes', onlyActive],
    [
      "another scope's active row without a storage key",
      { active: activeRow({ scope: 'user:2' }), pending: null },
    ],
    ['a reservation', onlyPending],
    ["another scope's reservation", { active: null, pending: pendingRow({ scope: 'user:2' }) }],
    ['a replacement in progress of a row without a storage key', { active: receiver, pending }],
  ])('refuses a key with %s', (_what, before) => {
    expect(planAdopt(before, NO_USAGE, adoptCommand(), null)).toEqual({ outcome: 'key-conflict' })
  })

  it('ends an expired reservation, to the millisecond', () => {
    for (const scope of ['user:1', 'user:2']) {
      const before = { active: null, pending: { ...expired, scope } }
      expect(planAdopt(before, NO_USAGE, adoptCommand(), null)).toMatchObject({
        outcome: 'change',
        after: { active: adopted, pending: null },
        leftovers: [{ attemptId: expired.id, scope, storageKey: 'stored/new', since: LATER }],
      })
      const early = adoptCommand({ now: afterNoon(4999) })
      expect(planAdopt(before, NO_USAGE, early, null)).toEqual({ outcome: 'key-conflict' })
    }
    const replaced = { active: receiver, pending: expired }
    expect(planAdopt(replaced, NO_USAGE, adoptCommand(), null)).toMatchObject({
      after: { active: { id: receiver.id, storageKey: 'stored' }, pending: null },
      leftovers: [{ attemptId: expired.id }],
    })
  })

  it('is refused if the sum of the scope would be too large, which an expired reservation of it makes room for', () => {
    const bytes = Number.MAX_SAFE_INTEGER - 6
    const command = adoptCommand()
    const full = { ...NO_USAGE, bytes }
    expect(planAdopt(NOTHING_LIVE, full, command, null)).toEqual({ outcome: 'sum-too-large' })
    expect(planAdopt(NOTHING_LIVE, { ...full, bytes: bytes - 1 }, command, null).outcome).toBe('change')
    const usage = { ...NO_USAGE, bytes: bytes - 1, reservedBytes: 1 }
    const small = { ...expired, declaredSize: 1 }
    expect(planAdopt({ active: null, pending: small }, usage, command, null).outcome).toBe('change')
    const others = { active: null, pending: { ...small, scope: 'user:2' } }
    expect(planAdopt(others, usage, command, null).outcome).toBe('sum-too-large')
  })

  it('ignores the size it is given for a row that receives the bytes', () => {
    const usage = { ...NO_USAGE, bytes: Number.MAX_SAFE_INTEGER }
    const before = { active: receiver, pending: null }
    const plan = planAdopt(before, usage, adoptCommand({ size: 101 }), null)
    expect(plan).toMatchObject({ outcome: 'change', row: { size: 100 } })
  })

  it('finds the row that receives the bytes by status, scope, bucket, key and the missing storage key', () => {
    expect(receivesBytes(receiver, adoptCommand())).toBe(true)
    for (const other of [
      { ...receiver, storageKey: 'stored' },
      { ...receiver, scope: 'user:2' },
      { ...receiver, bucket: 'other' },
      { ...receiver, key: 'other' },
      pendingRow(),
      deletedRow(),
    ]) {
      expect(receivesBytes(other, adoptCommand())).toBe(false)
    }
  })
})
