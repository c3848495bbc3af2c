import { describe, expect, it } from 'vitest'
import {
  NOTHING_LIVE,
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planSetUploadId,
} from '../../../../../src/core/store/lifecycle.js'
import { NO_USAGE } from '../../../../../src/core/store/usage.js'
import { activeRow, idNumber, pendingRow } from '../../rows.js'
import { afterNoon, NOON } from '../../settable-clock.js'
import { confirmCommand } from './commands.js'

const LATER = afterNoon(5000)
const active = activeRow({
  id: idNumber(1),
  size: 100,
  eTag: 'old',
  route: 'old',
  storageKey: 'stored/old',
  writableUntil: afterNoon(-5000),
})
const pending = pendingRow({
  id: idNumber(2),
  declaredSize: 10,
  route: 'new',
  filename: 'new.png',
  contentType: 'image/png',
  metadata: { a: 'b' },
  storageKey: 'stored/new',
  uploadId: 'upload',
})
const both = { active, pending }
const onlyPending = { active: null, pending }
const onlyActive = { active, pending: null }

describe('a confirm', () => {
  it('makes the pending row active with the verified fields', () => {
    const command = confirmCommand({ size: 12, eTag: 'etag', now: LATER })
    const plan = planConfirm(onlyPending, NO_USAGE, command)
    expect(plan.outcome === 'change' && plan.row).toStrictEqual({
      ...pending,
      status: 'active',
      size: 12,
      eTag: 'etag',
      declaredSize: null,
      uploadId: null,
      expiresAt: null,
      updatedAt: LATER,
      confirmedAt: LATER,
    })
    expect(plan).toMatchObject({ after: { pending: null }, history: null, leftovers: [] })
  })

  it('of a replacement keeps id and createdAt, and takes the other fields from the attempt', () => {
    const plan = planConfirm(both, NO_USAGE, confirmCommand({ now: LATER }))
    expect(plan.outcome === 'change' && plan.row).toStrictEqual({
      ...pending,
      id: active.id,
      attemptId: pending.id,
      createdAt: active.createdAt,
      status: 'active',
      size: 10,
      eTag: null,
      declaredSize: null,
      uploadId: null,
      expiresAt: null,
      updatedAt: LATER,
      confirmedAt: LATER,
    })
  })

  it('of a replacement records the replaced bytes as a leftover', () => {
    expect(planConfirm(both, NO_USAGE, confirmCommand({ now: LATER }))).toMatchObject({
      leftovers: [
        {
          attemptId: active.attemptId,
          storageKey: 'stored/old',
          uploadId: null,
          since: LATER,
          writableUntil: afterNoon(-5000),
        },
      ],
    })
  })

  it('uses its content type, else that of the attempt', () => {
    const given = planConfirm(onlyPending, NO_USAGE, confirmCommand({ contentType: 'image/webp' }))
    expect(given).toMatchObject({ row: { contentType: 'image/webp' } })
    const leftOut = planConfirm(onlyPending, NO_USAGE, confirmCommand())
    expect(leftOut).toMatchObject({ row: { contentType: 'image/png' } })
  })

  it('refuses another attempt with not-found', () => {
    expect(planConfirm(both, NO_USAGE, confirmCommand({ id: pending.id })).outcome).toBe('change')
    expect(planConfirm(both, NO_USAGE, confirmCommand({ id: idNumber(9) })).outcome).toBe('not-found')
  })

  it('of another scope returns not-found', () => {
    for (const before of [both, onlyPending, onlyActive, NOTHING_LIVE]) {
      const command = confirmCommand({ scope: 'user:2', size: 100, eTag: 'old' })
      expect(planConfirm(before, NO_USAGE, command)).toEqual({ outcome: 'not-found' })
    }
  })

  it.each([
    ['the attempt and the size', { id: active.attemptId, size: 100 }],
    ['the attempt, the size and the ETag', { id: active.attemptId, size: 100, eTag: 'old' }],
    ['without an id, the size and the ETag', { size: 100, eTag: 'old' }],
  ])('is a repeat that changes nothing with %s of the active row', (_what, fields) => {
    const plan = planConfirm(onlyActive, NO_USAGE, confirmCommand(fields))
    expect(plan).toEqual({ outcome: 'unchanged', row: active })
  })

  it('by its attempt is a repeat even during a replacement', () => {
    const plan = planConfirm(both, NO_USAGE, confirmCommand({ id: active.attemptId, size: 100 }))
    expect(plan).toEqual({ outcome: 'unchanged', row: active })
  })

  it.each([
    ['another size', { id: active.attemptId, size: 101 }],
    ['another ETag', { id: active.attemptId, size: 100, eTag: 'other' }],
    ['another attempt', { id: idNumber(9), size: 100, eTag: 'old' }],
    ['without an id, no ETag', { size: 100 }],
    ['without an id, another ETag', { size: 100, eTag: 'other' }],
  ])('is not a repeat with %s', (_what, fields) => {
    const plan = planConfirm(onlyActive, NO_USAGE, confirmCommand(fields))
    expect(plan).toEqual({ outcome: 'not-found' })
  })

  it('checks only growth beyond the reservation against the quota', () => {
    const usage = { ...NO_USAGE, reservedBytes: 10, reservedFiles: 1 }
    const quota = { maxBytes: 10, maxFiles: 0 }
    expect(planConfirm(onlyPending, usage, confirmCommand({ size: 10, quota })).outcome).toBe('change')
    expect(planConfirm(onlyPending, usage, confirmCommand({ size: 11, quota }))).toEqual({
      outcome: 'quota-exceeded',
      limit: 'maxBytes',
      max: 10,
      used: 10,
      reserved: 10,
      requested: 1,
    })
  })

  it('is refused if the sum would be too large', () => {
    const usage = { ...NO_USAGE, bytes: Number.MAX_SAFE_INTEGER - 10, reservedBytes: 10 }
    expect(planConfirm(onlyPending, usage, confirmCommand({ size: 11 })).outcome).toBe('sum-too-large')
  })

  it('accepts an expired reservation until it is dropped', () => {
    const expired = { active: null, pending: pendingRow({ expiresAt: afterNoon(-1) }) }
    expect(planConfirm(expired, NO_USAGE, confirmCommand()).outcome).toBe('change')
  })
})

describe('setUploadId', () => {
  const begun = pendingRow({ id: idNumber(2), uploadId: null })
  const command = { bucket: 'photos', key: 'a.png', id: begun.id, uploadId: 'upload', now: LATER }

  it('changes uploadId and updatedAt, and keeps the active row', () => {
    expect(planSetUploadId({ active, pending: begun }, command)).toMatchObject({
      outcome: 'change',
      after: { active, pending: { ...begun, uploadId: 'upload', updatedAt: LATER } },
      leftovers: [],
    })
  })

  it('changes nothing for the same id, and refuses another one', () => {
    expect(planSetUploadId(both, command)).toEqual({ outcome: 'unchanged', row: pending })
    expect(planSetUploadId(both, { ...command, uploadId: 'other' })).toEqual({ outcome: 'other-upload' })
  })

  it('returns not-found for an ended attempt', () => {
    for (const before of [NOTHING_LIVE, onlyActive]) {
      expect(planSetUploadId(before, command)).toEqual({ outcome: 'not-found' })
    }
    expect(planSetUploadId(both, { ...command, id: idNumber(9) })).toEqual({ outcome: 'not-found' })
  })
})

describe('a release', () => {
  const command = { bucket: 'photos', key: 'a.png', id: null, scope: null, uploadId: null, now: LATER }

  it('ends the attempt, keeps the active row and records a leftover', () => {
    const exact = { id: pending.id, scope: 'user:1', uploadId: 'upload' }
    for (const fields of [{}, exact]) {
      expect(planRelease(both, { ...command, ...fields })).toMatchObject({
        outcome: 'change',
        row: pending,
        after: { active, pending: null },
        history: null,
        leftovers: [{ attemptId: pending.id, storageKey: 'stored/new', uploadId: 'upload', since: LATER }],
      })
    }
  })

  it.each([
    ['another attempt', { id: idNumber(9) }],
    ['another scope', { scope: 'user:2' }],
    ['another upload', { uploadId: 'other' }],
  ])('keeps the attempt with %s', (_what, fields) => {
    expect(planRelease(both, { ...command, ...fields })).toEqual({ outcome: 'unchanged', row: null })
  })

  it('changes nothing if nothing is pending', () => {
    for (const before of [NOTHING_LIVE, onlyActive]) {
      expect(planRelease(before, command)).toEqual({ outcome: 'unchanged', row: null })
    }
  })
})

describe('a remove', () => {
  const reference = { bucket: 'photos', key: 'a.png' } as const
  const command = { ...reference, scope: null, attemptId: null, mode: 'soft', now: LATER } as const
  const deleted = { ...active, status: 'deleted', updatedAt: LATER, deletedAt: LATER }

  it('removes the active row and its replacement, and keeps the active row as history', () => {
    expect(planRemove(both, command)).toMatchObject({
      outcome: 'change',
      after: NOTHING_LIVE,
      history: deleted,
      row: deleted,
      leftovers: [
        { attemptId: active.attemptId, storageKey: 'stored/old', uploadId: null, since: LATER },
        { attemptId: pending.id, storageKey: 'stored/new', uploadId: 'upload', since: LATER },
      ],
    })
  })

  it('keeps no history in hard mode, and returns the row unchanged', () => {
    const plan = planRemove(both, { ...command, mode: 'hard' })
    expect(plan).toMatchObject({ history: null, row: active, leftovers: [{}, {}] })
  })

  it.each(['soft', 'hard'] as const)('of a key that is only pending is a release (%s)', (mode) => {
    expect(planRemove(onlyPending, { ...command, mode })).toMatchObject({
      outcome: 'change',
      row: pending,
      history: null,
      leftovers: [{ attemptId: pending.id }],
    })
  })

  it('of an attempt removes the object that it confirmed, or only the pending row of the attempt', () => {
    const ofActive = planRemove(both, { ...command, attemptId: active.attemptId })
    expect(ofActive).toMatchObject({ after: NOTHING_LIVE, row: deleted, leftovers: [{}, {}] })
    const ofPending = planRemove(both, { ...command, attemptId: pending.id })
    expect(ofPending).toMatchObject({ after: onlyActive, history: null, row: pending, leftovers: [{}] })
    const nothing = { outcome: 'unchanged', row: null }
    for (const before of [NOTHING_LIVE, onlyActive, onlyPending, both]) {
      expect(planRemove(before, { ...command, attemptId: idNumber(9) })).toEqual(nothing)
    }
  })

  it('changes nothing if nothing is live or another scope owns the key', () => {
    const nothing = { outcome: 'unchanged', row: null }
    expect(planRemove(NOTHING_LIVE, command)).toEqual(nothing)
    for (const before of [both, onlyPending, onlyActive]) {
      expect(planRemove(before, { ...command, scope: 'user:2' })).toEqual(nothing)
    }
  })
})

describe('a purge', () => {
  const expired = pendingRow({ id: idNumber(2), expiresAt: NOON, storageKey: 'stored/new' })

  it('drops a reservation that has expired, to the millisecond', () => {
    const rows = { active, pending: expired }
    expect(planPurge(rows, expired.id, NOON, LATER)).toMatchObject({
      outcome: 'change',
      row: expired,
      after: { active, pending: null },
      leftovers: [{ attemptId: expired.id, since: LATER }],
    })
    expect(planPurge(rows, expired.id, afterNoon(-1), LATER)).toEqual({ outcome: 'unchanged', row: null })
  })

  it('keeps a newer attempt than the expired one', () => {
    expect(planPurge(both, expired.id, LATER, LATER)).toEqual({ outcome: 'unchanged', row: null })
    expect(planPurge(onlyActive, expired.id, LATER, LATER)).toEqual({ outcome: 'unchanged', row: null })
  })
})
