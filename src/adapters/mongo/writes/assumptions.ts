import { keyId } from '../../../core/names.js'
import {
  NOTHING_LIVE,
  scopeOf,
  usageOf,
  type KeyChange,
  type LiveRows,
} from '../../../core/store/lifecycle/change.js'
import { decide, type KeyWrite } from '../../../core/store/lifecycle/decide.js'
import { RecentEntries } from '../../shared/recent-entries.js'
import { growthOf, NO_USAGE } from '../../../core/store/lifecycle/usage.js'
import { sumChanges } from '../documents/scope-document.js'
import type { KeyResult } from './write-keys.js'

/** Changes of one scope, planned on what the process assumes to be stored. */
export interface AssumedChanges {
  readonly scope: string
  readonly changes: readonly KeyChange[]
  /**
   * What the scope may use before the changes, so that none of them exceeds its quota or the largest sum. `null` if any
   * usage will do.
   */
  readonly most: { readonly bytes: number | null; readonly files: number | null }
}

/**
 * Remembers what this process wrote, so that its next writes need not read it: the key of a reserve is usually free, and a
 * confirm usually follows a reserve of the same process. Other processes write too, so the server MUST check what was
 * assumed: see `applyAssumed`.
 */
export interface Assumptions {
  /** Plans the writes of a scope. Returns `null` if they should read first. */
  plan(scope: string, writes: readonly KeyWrite[]): AssumedChanges | null
  /** Remembers the result of writes that were committed. */
  remember(scope: string, writes: readonly KeyWrite[], results: readonly KeyResult[]): void
  /** Forgets what turned out to be wrong, or may be. */
  forget(scope: string, writes: readonly KeyWrite[]): void
}

/** Reservations to remember. Each holds a row, with its metadata. */
const REMEMBERED_RESERVATIONS = 1000
const REMEMBERED_SCOPES = 10_000

export function createAssumptions(): Assumptions {
  /** The rows at keys that this process reserved. */
  const reserved = new RecentEntries<LiveRows>(REMEMBERED_RESERVATIONS)
  /** Scopes whose last reserves were of free keys and within the quota. A wrong assumption costs two commands. */
  const scopes = new RecentEntries<true>(REMEMBERED_SCOPES)

  function planWrite(scope: string, write: KeyWrite): KeyChange | null {
    if (write.kind !== 'reserve' && write.kind !== 'confirm') return null
    const before = reserved.get(keyId(write.command)) ?? NOTHING_LIVE
    if (before === NOTHING_LIVE && (write.kind === 'confirm' || !scopes.get(scope))) return null
    const decision = decide(write, { live: before, usage: () => NO_USAGE, known: () => null })
    return decision.outcome === 'change' ? decision : null
  }

  return {
    plan(scope, writes) {
      const changes: KeyChange[] = []
      let [addedBytes, addedFiles] = [0, 0]
      let mostBytes = Number.MAX_SAFE_INTEGER
      let mostFiles = Infinity
      for (const write of writes) {
        const change = planWrite(scope, write)
        if (change === null) return null
        changes.push(change)
        const { bytes, files } = growthOf(usageOf(change.before), usageOf(change.after))
        const { maxBytes, maxFiles } = quotaOf(write)
        if (bytes > 0) mostBytes = Math.min(mostBytes, maxBytes ?? Infinity)
        if (files > 0) mostFiles = Math.min(mostFiles, maxFiles ?? Infinity)
        addedBytes += Math.max(0, bytes)
        addedFiles += Math.max(0, files)
      }
      const [changed, ...others] = sumChanges(changes).keys()
      if (changed !== scope || others.length > 0) return null
      if (addedBytes > mostBytes || addedFiles > mostFiles) return null
      const most = {
        bytes: addedBytes === 0 ? null : mostBytes - addedBytes,
        files: mostFiles === Infinity ? null : mostFiles - addedFiles,
      }
      return { scope, changes, most }
    },

    remember(scope, writes, results) {
      let areFree = true
      let hasReserve = false
      for (const [index, { kind, command }] of writes.entries()) {
        const decision = results[index]!
        const key = keyId(command)
        reserved.delete(key)
        if (kind !== 'reserve') continue
        hasReserve = true
        areFree &&= decision.outcome === 'change' && scopeOf(decision.before) === null
        if (decision.outcome === 'change') reserved.set(key, decision.after)
      }
      if (!hasReserve) return
      if (areFree) scopes.set(scope, true)
      else scopes.delete(scope)
    },

    forget(scope, writes) {
      scopes.delete(scope)
      for (const { command } of writes) reserved.delete(keyId(command))
    },
  }
}

const UNLIMITED = { maxBytes: null, maxFiles: null } as const

function quotaOf(write: KeyWrite): { readonly maxBytes: number | null; readonly maxFiles: number | null } {
  return write.kind === 'reserve' || write.kind === 'confirm' ? write.command.quota : UNLIMITED
}
