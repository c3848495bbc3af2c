import type { Quota } from '../records.js'
import type { QuotaLimits } from '../driver.js'
import { shown } from './invalid.js'

/** What is wrong with a quota, in words; `null`: nothing. The callers know which error it is. */
export function quotaFlaw(value: unknown): string | null {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return `must be an object { maxBytes?, maxFiles? }, not ${shown(value)}`
  }
  const { maxBytes, maxFiles } = value as { maxBytes?: unknown; maxFiles?: unknown }
  for (const [name, limit] of [['maxBytes', maxBytes] as const, ['maxFiles', maxFiles] as const]) {
    if (limit === undefined || limit === null) continue
    if (!Number.isSafeInteger(limit) || (limit as number) < 0) {
      return `has ${name} ${shown(limit)}, which must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}`
    }
  }
  return null
}

/** A quota with `null` for every limit that it doesn't set. */
export function quotaLimits(quota: Quota | null): QuotaLimits {
  return { maxBytes: quota?.maxBytes ?? null, maxFiles: quota?.maxFiles ?? null }
}
