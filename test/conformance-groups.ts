import type { TestRunner } from '@svc/db/conformance'
import { describe, it } from 'vitest'
import { isLongRun } from './long-runs.js'

/**
 * Registers the conformance suite for a store that `npm test` and the long runs check. `npm test` leaves out the groups for
 * which `isLong` holds. Long runs have these and the scripts, whose number of runs is larger there; all else would be the same.
 */
export function groupsOnce(isLong: (group: string) => boolean = () => false): TestRunner {
  const isWanted = (group: string) => (isLongRun ? group === 'scripts' || isLong(group) : !isLong(group))
  return {
    it,
    describe(title, body) {
      const isSuite = title.endsWith(': StorageObjectStore')
      if (isSuite || isWanted(title)) describe(title, body)
    },
  }
}

/** Groups that take long because of their many rows. */
export const isLongLists = (group: string) => group.startsWith('long lists')
