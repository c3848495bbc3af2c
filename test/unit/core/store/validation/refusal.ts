import { expect } from 'vitest'
import { StorageError } from '@svc/db'

/** Returns the message of the `VALIDATION_ERROR` that the check throws for this field. */
export function refusalOf(field: string, check: () => unknown): string {
  try {
    check()
  } catch (error) {
    expect(error).toBeInstanceOf(StorageError)
    expect(error).toMatchObject({ code: 'VALIDATION_ERROR', params: { field } })
    expect((error as StorageError).message).toMatch(new RegExp(`^${field} must .+\\.$`))
    return (error as StorageError).message
  }
  throw new Error(`${field} was not refused.`)
}
