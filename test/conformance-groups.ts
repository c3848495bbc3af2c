import type { TestRunner } from '@svc/db/conformance'
import { describe, it } from 'vitest'

/** Registers those groups of the conformance suite for which `isWanted` holds. */
export function groups(isWanted: (group: string) => boolean): TestRunner {
  return {
    it,
    describe(title, body) {
      const isSuite = title.endsWith(': StorageObjectStore')
      if (isSuite || isWanted(title)) describe(title, body)
    },
  }
}

/** The random scripts. Long runs repeat only these with more runs, because every other group runs the same each time. */
export const isScripts = (group: string) => group === 'scripts'

/** Groups that take long because of their many rows. */
export const isLongLists = (group: string) => group.startsWith('long lists')
