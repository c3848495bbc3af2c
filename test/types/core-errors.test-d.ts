import { describe, expectTypeOf, it } from 'vitest'
import { ERROR_CODES, StorageError, type ErrorBody, type ErrorCode, type ErrorParams } from '@svc/db'
import type { ErrorStatus } from '@svc/db/adapter'

describe('StorageError', () => {
  it('has a literal union of codes and of statuses', () => {
    expectTypeOf<string>().not.toExtend<ErrorCode>()
    expectTypeOf<number>().not.toExtend<ErrorStatus>()
    expectTypeOf<StorageError['code']>().toEqualTypeOf<ErrorCode>()
    expectTypeOf<StorageError['status']>().toEqualTypeOf<ErrorStatus>()
    expectTypeOf<StorageError['statusCode']>().toEqualTypeOf<ErrorStatus>()
    expectTypeOf<StorageError['expose']>().toEqualTypeOf<boolean>()
    expectTypeOf<StorageError['retryable']>().toEqualTypeOf<boolean>()
    expectTypeOf(ERROR_CODES).toEqualTypeOf<readonly ErrorCode[]>()
  })

  it('accepts only known codes', () => {
    // @ts-expect-error unknown code
    new StorageError('NOPE')
    // @ts-expect-error the code is required
    new StorageError()
    // @ts-expect-error unknown option
    new StorageError('FORBIDDEN', { status: 404 })
    // @ts-expect-error only unavailability is retryable, which its codes already say
    new StorageError('FORBIDDEN', { retryable: true })
    // @ts-expect-error params are primitive values
    new StorageError('FORBIDDEN', { params: { nested: { secret: 1 } } })
    expectTypeOf(new StorageError('FORBIDDEN', { cause: 'anything' })).toExtend<Error>()
    expectTypeOf(new StorageError('FORBIDDEN', { message: undefined, params: undefined })).toExtend<Error>()
  })

  it('compares only with known codes', () => {
    const error = new StorageError('FORBIDDEN')
    // @ts-expect-error unknown code
    expectTypeOf(error.code === 'NOT_ALLOWED').toBeBoolean()
    // @ts-expect-error unknown status
    expectTypeOf(error.status === 418).toBeBoolean()
  })

  it('narrows by instanceof', () => {
    const thrown: unknown = new StorageError('FORBIDDEN')
    if (thrown instanceof StorageError) expectTypeOf(thrown.code).toEqualTypeOf<ErrorCode>()
  })

  it('is readonly, and so is its body', () => {
    const error = new StorageError('FORBIDDEN')
    // @ts-expect-error the code determines the status
    error.status = 404
    // @ts-expect-error readonly
    error.code = 'NOT_FOUND'
    expectTypeOf(error.params).toEqualTypeOf<ErrorParams | undefined>()
    expectTypeOf<ErrorBody>().toEqualTypeOf<{
      readonly code: ErrorCode
      readonly message: string
      readonly params?: ErrorParams
    }>()
  })
})
