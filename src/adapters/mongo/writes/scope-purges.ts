import type { KeyWrite } from '../../../core/store/lifecycle/decide.js'
import type { KeyResult } from './write-keys.js'

/** How long a purge waits for other processes that write to its scope, in milliseconds. */
export const PURGE_PATIENCE = 1000

const SKIPPED: KeyResult = { outcome: 'unchanged', row: null }

/**
 * The purges of each scope that have not finished. A process that died within a transaction blocks its scope until the
 * server ends that transaction, by default for a minute. A purge may skip a row, so it doesn't wait for that long, neither
 * in flight nor behind other writes of the scope.
 */
export interface ScopePurges {
  /** Returns the result of the work, or that nothing was purged if the write is a purge and is skipped meanwhile. */
  runSkippable(scope: string, write: KeyWrite, work: () => Promise<KeyResult>): Promise<KeyResult>
  /** Skips all purges of a scope. The caller MUST not have committed any of them. */
  skip(scope: string): void
  isSkipped(write: KeyWrite): boolean
}

export function createScopePurges(): ScopePurges {
  const unfinished = new Map<string, Map<KeyWrite, () => void>>()
  const skipped = new WeakSet<KeyWrite>()

  return {
    async runSkippable(scope, write, work) {
      if (write.kind !== 'purge') return work()
      const ofScope = unfinished.get(scope) ?? new Map<KeyWrite, () => void>()
      unfinished.set(scope, ofScope)
      try {
        const skip = new Promise<KeyResult>((resolve) => ofScope.set(write, () => resolve(SKIPPED)))
        return await Promise.race([work(), skip])
      } finally {
        ofScope.delete(write)
        if (ofScope.size === 0) unfinished.delete(scope)
      }
    },

    skip(scope) {
      for (const [write, resolve] of unfinished.get(scope) ?? []) {
        skipped.add(write)
        resolve()
      }
    },

    isSkipped(write) {
      return skipped.has(write)
    },
  }
}
