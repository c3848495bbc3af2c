import { describe, expect, it } from 'vitest'
import {
  decide,
  NO_USAGE,
  NOTHING_LIVE,
  outcomeOf,
  type KeyWrite,
  type LiveRows,
  type TrackedRow,
  type WriteState,
} from '../../../../../src/adapter.js'
import { idNumber } from '../../rows.js'
import { afterNoon, NOON } from '../../settable-clock.js'
import { confirmCommand, reserveCommand } from './commands.js'

const AT = { bucket: 'photos', key: 'a.png', now: NOON }

function state(live: LiveRows = NOTHING_LIVE, fields: Partial<WriteState> = {}): WriteState {
  return { live, usage: () => NO_USAGE, known: () => null, ...fields }
}

/** Returns the rows at a key after a write. */
function after(write: KeyWrite, live: LiveRows = NOTHING_LIVE): LiveRows {
  const decision = decide(write, state(live))
  if (decision.outcome !== 'change') throw new Error(`The write was not made: ${decision.outcome}.`)
  return decision.after
}

const reserved = after({ kind: 'reserve', command: reserveCommand() })
const confirmed = after({ kind: 'confirm', command: confirmCommand() }, reserved)
const transfer = {
  kind: 'transfer',
  command: {
    ...AT,
    from: 'user:1',
    to: 'user:2',
    attemptId: null,
    quota: { maxBytes: null, maxFiles: null },
  },
} as const
const release = { kind: 'release', command: { ...AT, id: null, scope: 'user:1', uploadId: null } } as const

describe('decide', () => {
  it.each<[KeyWrite, LiveRows, string[]]>([
    [{ kind: 'reserve', command: reserveCommand() }, NOTHING_LIVE, ['user:1']],
    [{ kind: 'confirm', command: confirmCommand() }, reserved, ['user:1']],
    [{ kind: 'confirm', command: confirmCommand() }, NOTHING_LIVE, []],
    [transfer, confirmed, ['user:2']],
    [release, reserved, []],
  ])('asks only for the usage of the scope that grows: %o', (write, live, expected) => {
    const asked: string[] = []
    const usage = (scope: string) => {
      asked.push(scope)
      return NO_USAGE
    }
    decide(write, state(live, { usage }))
    expect(asked).toEqual(expected)
  })

  it('changes none of the rows that it is given', () => {
    const frozen = (row: TrackedRow | null) => row && Object.freeze({ ...row })
    const live = Object.freeze({ active: frozen(confirmed.active), pending: null })
    expect(after(transfer, live).active).toMatchObject({ scope: 'user:2' })
    expect(live.active).toMatchObject({ scope: 'user:1' })
  })
})

describe('outcomeOf', () => {
  const outcome = <Write extends KeyWrite>(write: Write, live?: LiveRows) =>
    outcomeOf(write, decide(write, state(live)))

  it('has a copy of the row, without fields that only drivers need', () => {
    const { row } = outcome(release, reserved)
    expect(row).toMatchObject({ id: idNumber(50) })
    expect(row).not.toHaveProperty('writableUntil')
    expect(row!.createdAt).not.toBe(reserved.pending!.createdAt)
  })

  it('is the refusal itself', () => {
    const quota = { maxBytes: 9, maxFiles: null }
    expect(outcome({ kind: 'reserve', command: reserveCommand({ quota }) })).toEqual({
      outcome: 'maxBytes',
      max: 9,
      used: 0,
      reserved: 0,
      requested: 10,
    })
  })

  it("names the scope whose expired reservation a reserve replaces after the caller's", () => {
    const now = afterNoon(120_000)
    const command = reserveCommand({ scope: 'user:3', now, expiresAt: afterNoon(180_000), id: idNumber(51) })
    expect(outcome({ kind: 'reserve', command }, reserved)).toMatchObject({ scopes: ['user:3', 'user:1'] })
  })
})
