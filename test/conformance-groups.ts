import type { TestRunner } from '@svc/db/conformance'
import { describe, it } from 'vitest'

/**
 * Registers those groups of the conformance suite for which `isWanted` holds. Leaves out the time limits of the suite, which a
 * busy machine could exceed.
 */
export function groups(isWanted: (group: string) => boolean): TestRunner {
  return {
    it: (title, body) => it(title, body),
    describe(title, body) {
      const isSuite = title.endsWith(': StorageObjectStore')
      if (isSuite || isWanted(title)) describe(title, body)
    },
  }
}

export const everyGroup = groups(() => true)

/** The random scripts. Long runs repeat only these with more runs, because every other group runs the same each time. */
export const isScripts = (group: string) => group === 'scripts'

/** Groups that take long because of their many rows. */
export const isLongLists = (group: string) => group.startsWith('long lists')
