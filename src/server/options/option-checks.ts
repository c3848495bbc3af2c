import { StorageError } from '../../core/errors.js'
import { checkInteger, checkText, shown, type TextField } from '../../core/store/validation/checks.js'

/** Builds the error for an invalid option of `createS3Server`. */
export function optionError(message: string): TypeError {
  return new TypeError(`createS3Server: ${message}`)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Runs a validation of the store, and reports its `VALIDATION_ERROR` as a TypeError about this option. */
export function checkOption<T>(option: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof StorageError) throw optionError(`${option} ${predicateOf(error)}`)
    throw error
  }
}

/** Returns a validation message without its subject, the field: `must be an integer from 1 to 10 (got 0).` */
function predicateOf({ message }: StorageError): string {
  return message.slice(message.indexOf(' must ') + 1)
}

export function textOption(option: string, field: TextField, value: unknown): string {
  return checkOption(option, () => checkText(field, value))
}

export function integerOption(option: string, value: unknown, min: number, max: number): number {
  return checkOption(option, () => checkInteger('value', value, min, max))
}

/** Returns the function, or `null` if the option is not set. */
export function functionOption<T>(option: string, value: T | null | undefined): T | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'function') throw optionError(`${option} must be a function (got ${shown(value)}).`)
  return value
}
