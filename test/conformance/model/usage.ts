import type { Quota, ScopeUsage } from '../../../src/core/store/records.js'
import type { Refusal } from '../outcome.js'
import { invalid } from '../outcome.js'
import type { ModelRow } from './rows.js'

export function usageOf(rows: readonly ModelRow[], scope: string): ScopeUsage {
  const { bytes, files, reservedBytes, reservedFiles } = exactUsageOf(rows, scope)
  return { bytes: Number(bytes), files, reservedBytes: Number(reservedBytes), reservedFiles }
}

/**
 * Returns why a scope must not go from the rows before to the rows after: its quota, or a sum beyond the largest safe
 * integer. Only growth is checked: a scope that is over its quota may still make changes that add nothing.
 */
export function refuseGrowth(
  before: readonly ModelRow[],
  after: readonly ModelRow[],
  scope: string,
  quota: Quota | null | undefined,
  sizeField: string,
): Refusal | null {
  const { reservedBytes, reservedFiles } = usageOf(before, scope)
  const limits = [
    { limit: 'maxBytes', max: quota?.maxBytes, reserved: reservedBytes, held: bytesHeld },
    { limit: 'maxFiles', max: quota?.maxFiles, reserved: reservedFiles, held: filesHeld },
  ]
  for (const { limit, max, reserved, held } of limits) {
    const used = held(before, scope)
    const growth = held(after, scope) - used
    if (max == null || growth <= 0 || used + growth <= max) continue
    return {
      error: 'QUOTA_EXCEEDED',
      params: {
        ...{ limit, max, used: Number(used), reserved, requested: Number(growth) },
      },
    }
  }
  return bytesHeld(after, scope) > BigInt(Number.MAX_SAFE_INTEGER) ? invalid(sizeField) : null
}

/** The bytes of the scope if every pending upload succeeds. A bigint, because proposed rows may exceed a safe integer. */
function bytesHeld(rows: readonly ModelRow[], scope: string): bigint {
  const { bytes, reservedBytes } = exactUsageOf(rows, scope)
  return bytes + reservedBytes
}

function filesHeld(rows: readonly ModelRow[], scope: string): bigint {
  const { files, reservedFiles } = exactUsageOf(rows, scope)
  return BigInt(files + reservedFiles)
}

function exactUsageOf(rows: readonly ModelRow[], scope: string) {
  const active = rows.filter((row) => row.scope === scope && row.status === 'active')
  const pending = rows.filter((row) => row.scope === scope && row.status === 'pending')
  const replacedBy = (row: ModelRow) =>
    active.find((other) => other.bucket === row.bucket && other.key === row.key)
  const reserved = ({ arrivedAt, size, declaredSize }: ModelRow) => (arrivedAt ? size! : declaredSize!)
  const growth = (row: ModelRow) => Math.max(0, reserved(row) - (replacedBy(row)?.size ?? 0))
  return {
    bytes: sum(active.map((row) => row.size!)),
    files: active.length,
    reservedBytes: sum(pending.map(growth)),
    reservedFiles: pending.filter((row) => !replacedBy(row)).length,
  }
}

function sum(sizes: readonly number[]): bigint {
  return sizes.reduce((total, size) => total + BigInt(size), 0n)
}
