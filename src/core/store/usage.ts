import type { ScopeUsage, StorageObject } from './records.js'
import type { QuotaLimits, QuotaRefusal, SumRefusal } from './driver.js'

export const NO_USAGE: ScopeUsage = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

/** What one key adds to the usage of its scope: the object, and the growth that its pending upload reserves. */
export function usageOfKey(
  active: Pick<StorageObject, 'size'> | null,
  pending: Pick<StorageObject, 'declaredSize'> | null,
): ScopeUsage {
  const bytes = active?.size ?? 0
  return {
    bytes,
    files: active ? 1 : 0,
    reservedBytes: pending ? Math.max(0, (pending.declaredSize ?? 0) - bytes) : 0,
    reservedFiles: pending && !active ? 1 : 0,
  }
}

/** `usage` with the usage of one key taken out and another put in. */
export function usageAfter(usage: ScopeUsage, removed: ScopeUsage, added: ScopeUsage): ScopeUsage {
  return {
    bytes: usage.bytes - removed.bytes + added.bytes,
    files: usage.files - removed.files + added.files,
    reservedBytes: usage.reservedBytes - removed.reservedBytes + added.reservedBytes,
    reservedFiles: usage.reservedFiles - removed.reservedFiles + added.reservedFiles,
  }
}

export function sameUsage(a: ScopeUsage, b: ScopeUsage): boolean {
  return (
    a.bytes === b.bytes &&
    a.files === b.files &&
    a.reservedBytes === b.reservedBytes &&
    a.reservedFiles === b.reservedFiles
  )
}

/**
 * Why a change of one key must not be made: it grows the scope beyond its quota, or its sum beyond what a number holds
 * exactly. What doesn't grow is never refused for the quota, so a scope over its quota can still shrink. `null`: it may.
 */
export function refuseGrowth(
  usage: ScopeUsage,
  removed: ScopeUsage,
  added: ScopeUsage,
  { maxBytes, maxFiles }: QuotaLimits,
): QuotaRefusal | SumRefusal | null {
  const usedBytes = usage.bytes + usage.reservedBytes
  const moreBytes = added.bytes + added.reservedBytes - removed.bytes - removed.reservedBytes
  if (maxBytes !== null && moreBytes > 0 && usedBytes + moreBytes > maxBytes) {
    return {
      outcome: 'quota-exceeded',
      limit: 'maxBytes',
      max: maxBytes,
      used: usedBytes,
      requested: moreBytes,
    }
  }
  const usedFiles = usage.files + usage.reservedFiles
  const moreFiles = added.files + added.reservedFiles - removed.files - removed.reservedFiles
  if (maxFiles !== null && moreFiles > 0 && usedFiles + moreFiles > maxFiles) {
    return {
      outcome: 'quota-exceeded',
      limit: 'maxFiles',
      max: maxFiles,
      used: usedFiles,
      requested: moreFiles,
    }
  }
  // Both terms are safe integers, so their sum is at most 2^54 - 2 and the comparison is exact enough to be right.
  if (usedBytes + moreBytes > Number.MAX_SAFE_INTEGER) return { outcome: 'sum-too-large' }
  return null
}
