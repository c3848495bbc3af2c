import { StorageError } from '../../errors.js'
import type { Quota } from '../records.js'
import { shown } from './invalid.js'

/** Returns what is wrong with the quota called `name`, as a sentence without its period, or `null`. */
export function quotaFlaw(name: string, value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `${name} must be an object { maxBytes?, maxFiles? } (got ${shown(value)})`
  }
  for (const field of ['maxBytes', 'maxFiles'] as const) {
    const limit = (value as { readonly [limit in typeof field]?: unknown })[field]
    if (limit === undefined || limit === null) continue
    if (!Number.isSafeInteger(limit) || (limit as number) < 0) {
      return `${name}.${field} must be an integer from 0 to ${Number.MAX_SAFE_INTEGER} (got ${shown(limit)})`
    }
  }
  return null
}

/** A quota; `null` means unlimited. */
export interface QuotaLimits {
  readonly maxBytes: number | null
  readonly maxFiles: number | null
}

/** Returns the limits of a quota, with `null` for each one it doesn't set. */
export function quotaLimits(quota: Quota | null): QuotaLimits {
  return { maxBytes: quota?.maxBytes ?? null, maxFiles: quota?.maxFiles ?? null }
}

/** Returns the limits of a quota that may be left out. @throws StorageError `VALIDATION_ERROR` */
export function checkQuota(field: string, value: unknown): QuotaLimits {
  if (value === undefined || value === null) return quotaLimits(null)
  const flaw = quotaFlaw(field, value)
  if (flaw !== null) throw new StorageError('VALIDATION_ERROR', { message: `${flaw}.`, params: { field } })
  return quotaLimits(value)
}
