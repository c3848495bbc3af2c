import { scopeOf, usageOf, type KeyChange, type LiveRows } from '../../../core/store/lifecycle/change.js'
import type { ObjectStatus, ScopeUsage } from '../../../core/store/records.js'
import { NO_USAGE } from '../../../core/store/lifecycle/usage.js'
import { long, readNumber } from '../connection/bson.js'

/** The sums in the document of a scope: its usage, and the number of rows in the statuses that usage doesn't count. */
export interface ScopeSums extends ScopeUsage {
  readonly pendingRows: number
  readonly deletedRows: number
}

export const NO_SUMS: ScopeSums = { ...NO_USAGE, pendingRows: 0, deletedRows: 0 }
export const SUM_NAMES = Object.keys(NO_SUMS) as readonly (keyof ScopeSums)[]

/** Returns the sums in a document. A missing document or field counts as zero. */
export function readSums(document: Readonly<Record<string, unknown>> | null | undefined): ScopeSums {
  if (!document) return NO_SUMS
  return mapSums((name) => readNumber(document[name] ?? 0))
}

export function usageIn({ bytes, files, reservedBytes, reservedFiles }: ScopeSums): ScopeUsage {
  return { bytes, files, reservedBytes, reservedFiles }
}

export function countsIn({ files, pendingRows, deletedRows }: ScopeSums): Record<ObjectStatus, number> {
  return { pending: pendingRows, active: files, deleted: deletedRows }
}

/** What to add to the sums of each scope. Those that stay the same are left out. */
export type SumChanges = ReadonlyMap<string, ScopeSums>

export function sumChanges(changes: readonly KeyChange[]): SumChanges {
  const sums = new Map<string, ScopeSums>()
  const add = (scope: string | null, more: ScopeSums, sign: 1 | -1) => {
    if (scope === null) return
    const before = sums.get(scope) ?? NO_SUMS
    sums.set(
      scope,
      mapSums((name) => before[name] + sign * more[name]),
    )
  }
  for (const { before, after, history } of changes) {
    add(scopeOf(before), sumsOfKey(before), -1)
    add(scopeOf(after), sumsOfKey(after), 1)
    if (history) add(history.scope, { ...NO_SUMS, deletedRows: 1 }, 1)
  }
  return new Map([...sums].filter(([, sum]) => SUM_NAMES.some((name) => sum[name] !== 0)))
}

function sumsOfKey(rows: LiveRows): ScopeSums {
  return { ...usageOf(rows), pendingRows: rows.pending ? 1 : 0, deletedRows: 0 }
}

/** Builds the operator that adds the sums to a document. It names all of them, so every document has every field. */
export function increment(sums: ScopeSums): { $inc: Record<keyof ScopeSums, bigint> } {
  const all = SUM_NAMES.map((name) => [name, long(sums[name])])
  return { $inc: Object.fromEntries(all) as Record<keyof ScopeSums, bigint> }
}

export function mapSums(value: (name: keyof ScopeSums) => number): ScopeSums {
  const sums: Record<keyof ScopeSums, number> = { ...NO_SUMS }
  for (const name of SUM_NAMES) sums[name] = value(name)
  return sums
}
