import { StorageError } from '../../errors.js'

/** Creates the error for a bad parameter. `message` continues the sentence that starts with the field's name. */
export function invalid(field: string, message: string): StorageError {
  return new StorageError('VALIDATION_ERROR', { message: `${field} ${message}`, params: { field } })
}

/** Formats a value for an error message: simple values up to 40 characters, other values by their kind. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (typeof value === 'number' || typeof value === 'boolean' || value === null || value === undefined) {
    return String(value)
  }
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** Formats a value in place of a connection. Does not quote a string, which can contain a password. */
export function shownHandle(value: unknown): string {
  return typeof value === 'string' ? 'a string' : shown(value)
}
