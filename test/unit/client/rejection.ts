import { S3ClientError } from '@svc/db/client'
import { expect } from 'vitest'

/** Resolves to the `S3ClientError` that a call rejects with. Fails the test if it resolves. */
export async function rejectionOf(call: Promise<unknown>): Promise<S3ClientError> {
  const error: unknown = await call.then(
    (value) => expect.fail(`The call resolved to ${JSON.stringify(value)}.`),
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(S3ClientError)
  return error as S3ClientError
}
