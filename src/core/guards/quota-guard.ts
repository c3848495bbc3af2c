import { quotaExceeded } from '../store/create-store.js'
import type { Quota } from '../store/records.js'
import { requireScope, type ResolveScope } from '../scope.js'
import type { StorageObjectStore } from '../store/contract.js'
import { quotaFlaw, quotaLimits } from '../store/validation/quota.js'
import { checkSize, optional } from '../store/validation/scalars.js'
import type { GuardContext } from './guard.js'

export interface QuotaGuardOptions extends Quota {
  readonly client: StorageObjectStore
  readonly resolveScope: ResolveScope
}

/**
 * A guard for custom routes that refuses where `bytes + reservedBytes + (size ?? 0)` or `files + reservedFiles + 1` would
 * be over the number. It looks before the act: calls at once can pass it together. What enforces a quota exactly is
 * `db({ quota })`, in `reserve`.
 *
 * The guard rejects with `UNAUTHORIZED`, `QUOTA_EXCEEDED`, or `VALIDATION_ERROR` for a bad `size`.
 * @throws TypeError for a limit that is no integer from 0 to `Number.MAX_SAFE_INTEGER`.
 */
export function createQuotaGuard(options: QuotaGuardOptions): (context: GuardContext) => Promise<void> {
  const { client, resolveScope } = options
  const flaw = quotaFlaw(options)
  if (flaw) throw new TypeError(`createQuotaGuard: the quota ${flaw}.`)
  const { maxBytes, maxFiles } = quotaLimits(options)

  return async ({ request, size }) => {
    const scope = await requireScope(resolveScope, request)
    const bytes = optional(size, (value) => checkSize('size', value)) ?? 0
    const usage = await client.getScopeUsage(scope)
    const usedBytes = usage.bytes + usage.reservedBytes
    if (maxBytes !== null && usedBytes + bytes > maxBytes) {
      throw quotaExceeded({ limit: 'maxBytes', max: maxBytes, used: usedBytes, requested: bytes })
    }
    const usedFiles = usage.files + usage.reservedFiles
    if (maxFiles !== null && usedFiles + 1 > maxFiles) {
      throw quotaExceeded({ limit: 'maxFiles', max: maxFiles, used: usedFiles, requested: 1 })
    }
  }
}
