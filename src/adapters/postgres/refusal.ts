import type { QuotaExcess, QuotaLimits, QuotaRefusal, SumRefusal } from '../../core/store/driver.js'
import { readNumber } from './sql/rows.js'
import type { WriteResult } from './sql/writes.js'

/** Reads the result of a write that would exceed a limit of the scope. */
export function refusal(
  { outcome, used, reserved, requested }: WriteResult,
  quota: QuotaLimits,
): QuotaRefusal | SumRefusal {
  if (outcome !== 'maxBytes' && outcome !== 'maxFiles') return { outcome: 'sum-too-large' }
  const excess: QuotaExcess = {
    limit: outcome,
    max: quota[outcome] ?? 0,
    used: readNumber(used),
    reserved: readNumber(reserved),
    requested: readNumber(requested),
  }
  return { outcome: 'quota-exceeded', ...excess }
}
