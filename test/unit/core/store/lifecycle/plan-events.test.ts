import { describe, expect, it } from 'vitest'
import {
  planConfirm,
  planPurge,
  planRelease,
  planRemove,
  planReserve,
  planSetUploadId,
  type KeyChange,
} from '../../../../../src/core/store/lifecycle.js'
import { NO_USAGE } from '../../../../../src/core/store/usage.js'
import { activeRow, idNumber, pendingRow } from '../../rows.js'
import { afterNoon, NOON } from '../../settable-clock.js'
import { confirmCommand, reserveCommand } from './commands.js'

const LATER = afterNoon(5000)
const reference = { bucket: 'photos', key: 'a.png' }
const active = activeRow({ id: idNumber(1) })
const pending = pendingRow({ id: idNumber(2), expiresAt: NOON })
const both = { active, pending }
const onlyPending = { active: null, pending }

/** Returns a plan, which must be a change. */
function change(plan: KeyChange | { readonly outcome: string }): KeyChange {
  if (!('event' in plan)) throw new Error(`The plan is no change but ${plan.outcome}.`)
  return plan
}

describe('a plan has the event of', () => {
  it('a confirm: activated, with the object that it replaced', () => {
    for (const before of [onlyPending, both]) {
      const { event, row } = change(planConfirm(before, NO_USAGE, confirmCommand({ now: LATER })))
      expect(event).toStrictEqual({ type: 'activated', object: row, previous: before.active })
    }
  })

  it.each(['soft', 'hard'] as const)(
    'a remove of an object: deleted, with the row that it returns (%s)',
    (mode) => {
      const command = { ...reference, scope: null, attemptId: null, mode, now: LATER }
      const { event, row } = change(planRemove(both, command))
      expect(event).toStrictEqual({ type: 'deleted', object: row, previous: null })
      expect(row.status).toBe(mode === 'soft' ? 'deleted' : 'active')
    },
  )
})

describe('a plan has no event for', () => {
  const anyAttempt = { ...reference, id: null, scope: null, uploadId: null, now: LATER }
  const removal = { ...reference, scope: null, attemptId: null, mode: 'soft', now: LATER } as const
  const ofPending = { ...removal, attemptId: pending.id }

  it.each<[string, KeyChange | { readonly outcome: string }]>([
    ['a reserve', planReserve(both, NO_USAGE, reserveCommand())],
    ['a setUploadId', planSetUploadId(both, { ...reference, id: pending.id, uploadId: 'a', now: LATER })],
    ['a release', planRelease(both, anyAttempt)],
    ['a remove of a reservation', planRemove(onlyPending, removal)],
    ['a remove of a replacement in progress', planRemove(both, ofPending)],
    ['a purge', planPurge(both, pending.id, LATER, LATER)],
  ])('%s', (_what, plan) => {
    expect(change(plan).event).toBeNull()
  })
})
