import type { ScopeUsage, StorageObject } from '../records.js'
import type { QuotaLimits, QuotaRefusal, SumRefusal } from '../driver.js'

/** The usage of a scope that stores and reserves nothing. */
export const NO_USAGE: ScopeUsage = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }

/** Returns what one key adds to the usage of its scope: its object, and the growth its pending upload reserves. */
export function usageOfKey(
  active: Pick<StorageObject, 'size'> | null,
  pending: Pick<StorageObject, 'size' | 'declaredSize'> | null,
): ScopeUsage {
  const bytes = active?.size ?? 0
  return {
    bytes,
    files: active ? 1 : 0,
    // The size of an arrived attempt is known, and may exceed what it declared.
    reservedBytes: pending ? Math.max(0, (pending.size ?? pending.declaredSize ?? 0) - bytes) : 0,
    reservedFiles: pending && !active ? 1 : 0,
  }
}

/**
 * Returns `usage` without `removed` and with `added`.
 *
 * @example
 * import { NO_USAGE, usageAfter, usageOf } from '@svc/db/adapter'
 *
 * const usage = usageAfter(NO_USAGE, NO_USAGE, usageOf(live))
 */
export function usageAfter(usage: ScopeUsage, removed: ScopeUsage, added: ScopeUsage): ScopeUsage {
  return {
    bytes: usage.bytes - removed.bytes + added.bytes,
    files: usage.files - removed.files + added.files,
    reservedBytes: usage.reservedBytes - removed.reservedBytes + added.reservedBytes,
    reservedFiles: usage.reservedFiles - removed.reservedFiles + added.reservedFiles,
  }
}

/**
 * Returns whether two usages are equal.
 *
 * @example
 * import { NO_USAGE, sameUsage, usageOf } from '@svc/db/adapter'
 *
 * const isEmpty = sameUsage(usageOf(live), NO_USAGE)
 */
export function sameUsage(a: ScopeUsage, b: ScopeUsage): boolean {
  return (
    a.bytes === b.bytes &&
    a.files === b.files &&
    a.reservedBytes === b.reservedBytes &&
    a.reservedFiles === b.reservedFiles
  )
}

/** Returns the limit that growth would exceed, bytes before files, or `null`. */
export function exceededLimit(
  { bytes, files, reservedBytes, reservedFiles }: ScopeUsage,
  growth: Pick<ScopeUsage, 'bytes' | 'files'>,
  { maxBytes, maxFiles }: QuotaLimits,
): QuotaRefusal | null {
  const used = bytes + reservedBytes
  if (maxBytes !== null && used + growth.bytes > maxBytes) {
    return { outcome: 'maxBytes', max: maxBytes, used, reserved: reservedBytes, requested: growth.bytes }
  }
  const usedFiles = files + reservedFiles
  if (maxFiles === null || usedFiles + growth.files <= maxFiles) return null
  const requested = growth.files
  return { outcome: 'maxFiles', max: maxFiles, used: usedFiles, reserved: reservedFiles, requested }
}

/**
 * Returns why a change must be refused, or `null`. A change is refused if it makes the scope grow beyond its quota, or its
 * sum beyond `Number.MAX_SAFE_INTEGER`. A change that doesn't grow the scope is never refused for the quota, so a scope over
 * its quota can still shrink.
 *
 * @example
 * import { NO_USAGE, refuseGrowth, usageOf } from '@svc/db/adapter'
 *
 * const refusal = refuseGrowth(NO_USAGE, NO_USAGE, usageOf(live), { maxBytes: 1_000_000, maxFiles: null })
 */
export function refuseGrowth(
  usage: ScopeUsage,
  removed: ScopeUsage,
  added: ScopeUsage,
  { maxBytes, maxFiles }: QuotaLimits,
): QuotaRefusal | SumRefusal | null {
  // Negative if the change frees some.
  const growth = {
    bytes: added.bytes + added.reservedBytes - removed.bytes - removed.reservedBytes,
    files: added.files + added.reservedFiles - removed.files - removed.reservedFiles,
  }
  const refusal = exceededLimit(usage, growth, {
    maxBytes: growth.bytes > 0 ? maxBytes : null,
    maxFiles: growth.files > 0 ? maxFiles : null,
  })
  if (refusal) return refusal
  // Both terms are safe integers, so the sum is at most 2^54 - 2. Rounding can't change the result of this comparison.
  const isTooLarge = usage.bytes + usage.reservedBytes + growth.bytes > Number.MAX_SAFE_INTEGER
  return isTooLarge ? { outcome: 'sum' } : null
}
