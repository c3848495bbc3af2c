import type { Leftover } from '../../src/adapter.js'
import { driverResult, overChanges, SCRIPTS, type Change, type Mutant, type Mutants } from './mutant.js'

const OF_REPLACED =
  'leftovers of temporary objects: have the end that a replaced object had then, and that of no other attempt'
const OF_REMOVED = 'leftovers of temporary objects: have the end of an object that is removed, in both modes'
const OF_ENDED =
  'leftovers of temporary objects: have the end of an object that has come to it, in both modes'

export const temporaryLeftoverMutants: Mutants = {
  'forgets the end of an object that is replaced': [
    overEnds(({ readableUntil }, { after }) => (after.active ? null : readableUntil)),
    OF_REPLACED,
    SCRIPTS.aboutTemporary,
  ],
  'leaves behind the end of the replacement': [
    overEnds(({ readableUntil }, { after }) => (after.active ? after.active.temporaryUntil : readableUntil)),
    OF_REPLACED,
  ],
  'forgets the end of an object that is removed before it': [
    overEnds(({ readableUntil, since }, { after }) =>
      readableUntil && !after.active && since < readableUntil ? null : readableUntil,
    ),
    OF_REMOVED,
  ],
  'forgets the end of an object that is removed after it': [
    overEnds(({ readableUntil, since }, { after }) =>
      readableUntil && !after.active && since > readableUntil ? null : readableUntil,
    ),
    OF_ENDED,
  ],
  'takes the time for a check for the end of an object': [
    overEnds(({ attemptId, readableUntil }, { before: { pending } }) =>
      pending?.arrivedAt && pending.attemptId === attemptId ? pending.expiresAt : readableUntil,
    ),
    'leftovers of temporary objects: have no end of an upload that ends, whatever its terms',
    SCRIPTS.aboutChecks,
  ],
  'forgets the end of an object whose leftover is put off': [
    driverResult('listLeftovers', async (leftovers) =>
      leftovers.map((each) => (each.dueAt ? { ...each, readableUntil: null } : each)),
    ),
    'leftovers of temporary objects: have it in every list, also once they are put off',
  ],
}

function overEnds(endOf: (leftover: Leftover, change: Change) => Date | null): Mutant['createStore'] {
  return overChanges((change) => ({
    ...change,
    leftovers: change.leftovers.map((each) => ({ ...each, readableUntil: endOf(each, change) })),
  }))
}
