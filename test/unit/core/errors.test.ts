import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ERROR_CODES, StorageError, type ErrorCode } from '@svc/db'
import { errorBody, toStorageError } from '../../../src/core/errors.js'

describe('StorageError', () => {
  it.each(ERROR_CODES)('%s has a default message, and flags for frameworks and retries', (code) => {
    const error = new StorageError(code)
    const { status } = error
    expect(error).toMatchObject({ code, statusCode: status, expose: status < 500 })
    expect(error.message).toMatch(/^[A-Z].+\.$/)
    expect(error.retryable).toBe(code === 'DATABASE_UNAVAILABLE' || code === 'STORAGE_UNAVAILABLE')
    expect(new StorageError(code, { retryable: false }).retryable).toBe(false)
  })

  it('is an Error with a name and a stack that begins with it', () => {
    const error = new StorageError('FORBIDDEN', { message: 'Not on this plan.' })
    expect(error).toBeInstanceOf(Error)
    expect(error.name).toBe('StorageError')
    expect(error.stack).toMatch(/^StorageError: Not on this plan\.\n[\s\S]*errors\.test/)
  })

  it('has neither params nor cause by default', () => {
    const error = new StorageError('FORBIDDEN', { params: undefined, cause: undefined })
    expect('params' in error).toBe(false)
    expect('cause' in error).toBe(false)
  })

  it.each(['NOPE', '', 'constructor', '__proto__', 'toString'])(
    'throws a TypeError that lists the known codes for the unknown code %j',
    (code) => {
      const make = () => new StorageError(code as ErrorCode)
      expect(make).toThrow(TypeError)
      expect(make).toThrow(JSON.stringify(code))
      expect(make).toThrow('OBJECT_NOT_FOUND')
    },
  )
})

describe('instanceof StorageError', () => {
  afterEach(() => {
    vi.resetModules()
  })

  async function loadCopy() {
    vi.resetModules()
    return import('../../../src/core/errors.js')
  }

  it('is true across two copies of the library, in both directions', async () => {
    const first = await loadCopy()
    const second = await loadCopy()
    expect(second.StorageError).not.toBe(first.StorageError)
    expect(new second.StorageError('FORBIDDEN')).toBeInstanceOf(first.StorageError)
    expect(new first.StorageError('FORBIDDEN')).toBeInstanceOf(second.StorageError)
  })

  it('lets one copy handle the error of another unchanged', async () => {
    const other = await loadCopy()
    const error = new other.StorageError('QUOTA_EXCEEDED', { message: 'Full.', params: { max: 1 } })
    const passed = toStorageError(error)
    expect(passed).toBe(error)
    expect(errorBody(passed)).toEqual({ code: 'QUOTA_EXCEEDED', message: 'Full.', params: { max: 1 } })
  })

  it('is true for a subclass, whose own check only matches itself', async () => {
    class PlanError extends StorageError {}
    const other = await loadCopy()
    const planError = new PlanError('FORBIDDEN')
    expect(planError).toBeInstanceOf(PlanError)
    expect(planError).toBeInstanceOf(StorageError)
    expect(planError).toBeInstanceOf(other.StorageError)
    expect(new StorageError('FORBIDDEN')).not.toBeInstanceOf(PlanError)
    expect(new other.StorageError('FORBIDDEN')).not.toBeInstanceOf(PlanError)
  })

  it.each([
    ['null', null],
    ['undefined', undefined],
    ['a string', 'FORBIDDEN'],
    ['an Error', new Error('FORBIDDEN')],
    ['an object of the same shape', { name: 'StorageError', code: 'FORBIDDEN', status: 403, message: '' }],
  ])('is false for %s', (_what, value) => {
    expect(value instanceof StorageError).toBe(false)
  })

  it('keeps its marker out of logs', () => {
    expect(Object.keys(new StorageError('FORBIDDEN')).sort()).toEqual(['code', 'retryable', 'status'])
    expect(Object.getOwnPropertySymbols({ ...new StorageError('FORBIDDEN') })).toEqual([])
  })
})

describe('errorBody', () => {
  const details = fc.record({
    message: fc.string({ minLength: 12 }),
    params: fc.dictionary(fc.string({ minLength: 1 }), fc.string({ minLength: 12 }), { minKeys: 1 }),
  })

  it('has the message and params of a 4xx, the default message of a 5xx, and never a cause', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ERROR_CODES), details, (code, { message, params }) => {
        const error = new StorageError(code, { message, params, cause: new Error('ECONNREFUSED db-1:5432') })
        const shown = error.status < 500 ? { message, params } : { message: new StorageError(code).message }
        expect(errorBody(error)).toStrictEqual({ code, ...shown })
      }),
    )
  })

  it('has no params if the error has none', () => {
    const body = errorBody(new StorageError('FORBIDDEN', { message: 'Not on this plan.' }))
    expect(body).toStrictEqual({ code: 'FORBIDDEN', message: 'Not on this plan.' })
  })
})

describe('toStorageError', () => {
  it.each([[new Error('SELECT * FROM secrets')], ['a string'], [undefined], [null]])(
    'wraps %s in an INTERNAL_ERROR with the cause, without quoting it',
    (thrown) => {
      const error = toStorageError(thrown)
      expect(error.code).toBe('INTERNAL_ERROR')
      expect(error.message).toBe(new StorageError('INTERNAL_ERROR').message)
      expect(error.cause).toBe(thrown)
    },
  )

  it('wraps a StorageError with an unknown code, from a newer version, in an INTERNAL_ERROR', () => {
    const newer = Object.defineProperty(new StorageError('FORBIDDEN'), 'code', { value: 'NEW_CODE' })
    const error = toStorageError(newer)
    expect(error).toMatchObject({ code: 'INTERNAL_ERROR', cause: newer })
    expect(errorBody(error).code).toBe('INTERNAL_ERROR')
  })
})
