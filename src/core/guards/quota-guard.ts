import { refusalError } from '../store/refusals.js'
import type { Quota } from '../store/records.js'
import { requireScope, type ResolveScope } from '../scope.js'
import type { StorageObjectStore } from '../store/contract.js'
import { checkSize, optional, quotaFlaw, quotaLimits } from '../store/validation/checks.js'
import type { GuardContext } from './guard.js'

export interface QuotaGuardOptions extends Quota {
  readonly client: StorageObjectStore
  readonly resolveScope: ResolveScope
}

/**
 * Creates a guard for custom routes that denies if `bytes + reservedBytes + (size ?? 0)` exceeds `maxBytes` or
 * `files + reservedFiles + 1` exceeds `maxFiles`. It only checks, so concurrent requests can pass it together. To enforce a
 * quota exactly, use `db({ quota })`, which checks in `reserve`.
 *
 * The guard rejects with `UNAUTHORIZED`, `QUOTA_EXCEEDED`, or `VALIDATION_ERROR` for a bad `size`.
 * @throws TypeError for a limit that is not an integer from 0 to `Number.MAX_SAFE_INTEGER`.
 */
export function createQuotaGuard(options: QuotaGuardOptions): (context: GuardContext) => Promise<void> {
  const { client, resolveScope } = options
  const flaw = quotaFlaw('options', options)
  if (flaw) throw new TypeError(`createQuotaGuard: ${flaw}.`)
  const { maxBytes, maxFiles } = quotaLimits(options)

  return async ({ request, size }) => {
    const scope = await requireScope(resolveScope, request)
    const bytes = optional(size, (value) => checkSize('size', value)) ?? 0
    const usage = await client.getScopeUsage(scope)
    const usedBytes = usage.bytes + usage.reservedBytes
    if (maxBytes !== null && usedBytes + bytes > maxBytes) {
      const excess = { max: maxBytes, used: usedBytes, reserved: usage.reservedBytes, requested: bytes }
      throw refusalError({ outcome: 'maxBytes', ...excess })
    }
    const usedFiles = usage.files + usage.reservedFiles
    if (maxFiles !== null && usedFiles + 1 > maxFiles) {
      const excess = { max: maxFiles, used: usedFiles, reserved: usage.reservedFiles, requested: 1 }
      throw refusalError({ outcome: 'maxFiles', ...excess })
    }
  }
}
