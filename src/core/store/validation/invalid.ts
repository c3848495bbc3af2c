import { StorageError } from '../../errors.js'

/** The error for a bad parameter: `field` names it, the message says what is wrong and what is allowed. */
export function invalid(field: string, message: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { message: `"${field}" ${message}`, params: { field } })
}

/** A value as an error message shows it: short, and never more than its kind where it is no simple value. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) {
    return String(value)
  }
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
