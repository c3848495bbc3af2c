import { StorageError } from '@svc/db'
import { expect } from 'vitest'

export const BUCKET = 'bucket'

/** Returns the input of a small reservation that expires in an hour. */
export const attempt = (key: string, scope = 'scope') => ({
  scope,
  bucket: BUCKET,
  key,
  declaredSize: 5,
  expiresAt: new Date(Date.now() + 3_600_000),
})

/** Returns the StorageError of a call that must fail. */
export async function errorOf(call: Promise<unknown>): Promise<StorageError> {
  const error: unknown = await call.then(
    () => null,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(StorageError)
  return error as StorageError
}
