import { StorageError } from '../../errors.js'
import type { QuotaLimits } from '../driver-commands.js'
import type { ObjectReference, Quota } from '../records.js'
import { quotaFlaw, quotaLimits } from '../validation/quota.js'
import { checkAttemptId, checkInteger, checkObject, optional } from '../validation/scalars.js'
import { checkText, type TextField } from '../validation/text.js'

export const MAX_PAGE = 1000
const DEFAULT_PAGE = 100

export const optionalText = (field: TextField, value: unknown) =>
  optional(value, (text) => checkText(field, text))
export const optionalId = (field: string, value: unknown) =>
  optional(value, (id) => checkAttemptId(field, id))

export function pageLimit(value: unknown): number {
  return optional(value, (limit) => checkInteger('limit', limit, 1, MAX_PAGE)) ?? DEFAULT_PAGE
}

export function quota(value: unknown): QuotaLimits {
  const checked = optional(value, (given) => {
    const flaw = quotaFlaw('quota', given)
    if (flaw) throw new StorageError('VALIDATION_ERROR', { message: `${flaw}.`, params: { field: 'quota' } })
    return given as Quota
  })
  return quotaLimits(checked)
}

export function reference(input: ObjectReference): ObjectReference {
  const { bucket, key } = checkObject('input', input)
  return { bucket: checkText('bucket', bucket), key: checkText('key', key) }
}
