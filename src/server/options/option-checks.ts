import { StorageError } from '../../core/errors.js'
import { shown } from '../../core/store/validation/invalid.js'
import { checkInteger } from '../../core/store/validation/scalars.js'
import { checkText, type TextField } from '../../core/store/validation/text.js'

/** The mistake of whoever calls `createS3Server`: says which option is wrong, and what is allowed. */
export function wrongOption(message: string): TypeError {
  return new TypeError(`createS3Server: ${message}`)
}

export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** An option that a rule of the store is about: what is `VALIDATION_ERROR` there is a TypeError here. */
export function byStoreRule<T>(option: string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (error instanceof StorageError) throw wrongOption(`${option}: ${error.message}`)
    throw error
  }
}

export function textOption(option: string, field: TextField, value: unknown): string {
  return byStoreRule(option, () => checkText(field, value))
}

export function integerOption(option: string, value: unknown, min: number, max: number): number {
  return byStoreRule(option, () => checkInteger(option, value, min, max))
}

/** `null` where it was left out. */
export function functionOption<T>(option: string, value: T | null | undefined): T | null {
  if (value === undefined || value === null) return null
  if (typeof value !== 'function') throw wrongOption(`${option} must be a function, not ${shown(value)}.`)
  return value
}
