import { describe, expect, it } from 'vitest'
import { faultsOf } from './event-checks.js'
import type { LoggedChange, LoggedEvent, LoggedObject, LogLine } from './event-log.js'

const KEY = 'shared 1'
const CREATED = {
  ...{ attemptId: 'a', scope: 'unlimited', bucket: 'events', key: KEY, status: 'active' },
  ...{ metadata: null, storageKey: 'a', updatedAt: '1' },
} as LoggedObject
const UPDATED: LoggedObject = { ...CREATED, metadata: { mark: 'm' }, updatedAt: '2' }

const event = (id: string, change: LoggedChange, attempts = 1): LoggedEvent => ({
  id,
  ...change,
  createdAt: '1',
  attempts,
  claim: `claim ${attempts}`,
  hasNext: false,
})
const FIRST = event('1', { type: 'activated', object: CREATED, previous: null })
const SECOND = event('2', { type: 'updated', object: UPDATED, previous: CREATED })

const claimed = (time: number, events: readonly LoggedEvent[]): LogLine => ({
  ...{ kind: 'claimed', calledAt: time, at: time + 1, from: time, until: time + 10, events },
})
const settled = (time: number, { id, claim }: LoggedEvent): LogLine[] => [
  { kind: 'settling', claims: [`${id} ${claim}`], at: time },
  { kind: 'settled', claims: [`${id} ${claim}`], at: time + 1 },
]
const CALLS: readonly LogLine[] = [
  { kind: 'called', change: 'activated a' },
  { kind: 'changed', row: CREATED },
  { kind: 'called', change: 'updated m' },
  { kind: 'changed', row: UPDATED },
]
const delivered = (first: LoggedEvent, second: LoggedEvent): LogLine[] => [
  ...[claimed(0, [first]), ...settled(3, first)],
  ...[claimed(5, [second]), ...settled(8, second)],
]
const faults = (lines: readonly LogLine[], active: LoggedObject | null = UPDATED) =>
  faultsOf({ lines, active: new Map([[KEY, active]]), wasInterrupted: false })

describe('the checks of delivered events', () => {
  it('accept events that were delivered once, in order', () => {
    expect(faults([...CALLS, ...delivered(FIRST, SECOND)])).toEqual([])
  })

  it.each<[what: string, lines: readonly LogLine[], active: LoggedObject | null]>([
    ['events in the wrong order', [...CALLS, ...delivered(SECOND, FIRST)], UPDATED],
    ['a change without an event', [...CALLS, claimed(0, [FIRST]), ...settled(3, FIRST)], UPDATED],
    ['an event whose change was undone', [...CALLS, ...delivered(FIRST, SECOND)], CREATED],
    [
      'an event of a change that was not called',
      [...CALLS.slice(0, 2), ...delivered(FIRST, SECOND)],
      UPDATED,
    ],
    [
      'an event of a refused change',
      [...CALLS, { kind: 'refused', change: 'updated m' }, ...delivered(FIRST, SECOND)],
      UPDATED,
    ],
    [
      'two claims at the same time',
      [...CALLS, claimed(0, [FIRST]), claimed(2, [{ ...FIRST, attempts: 2, claim: 'claim 2' }])].concat(
        ...[settled(5, FIRST), [claimed(7, [SECOND])], settled(9, SECOND)],
      ),
      UPDATED,
    ],
    [
      'a claim after the settlement',
      [...CALLS, ...delivered(FIRST, SECOND), claimed(20, [{ ...FIRST, attempts: 2, claim: 'claim 2' }])],
      UPDATED,
    ],
    ['an abandoned claim that never came back', [...CALLS, claimed(0, [FIRST, SECOND])], UPDATED],
  ])('report %s', (_, lines, active) => {
    expect(faults(lines, active)).not.toEqual([])
  })
})
