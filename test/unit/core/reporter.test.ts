import { afterEach, describe, expect, it, vi } from 'vitest'
import { StorageError } from '@svc/db'
import { createReport } from '../../../src/core/reporter.js'

const request = new Request('http://localhost/')
const context = { request, operation: 'db.listObjects' }

/** Waits until all settled promises have called their handlers. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('a report', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('passes the error, the request and the operation to the listener', () => {
    const listener = vi.fn()
    const error = new StorageError('DATABASE_UNAVAILABLE')
    createReport(listener)(error, context)
    expect(listener.mock.calls).toEqual([[error, context]])
    expect(listener.mock.calls[0]![0]).toBe(error)
  })

  it("unwraps the application's error from an INTERNAL_ERROR", () => {
    const listener = vi.fn()
    const cause = new Error('resolveScope broke')
    createReport(listener)(new StorageError('INTERNAL_ERROR', { cause }), context)
    expect(listener.mock.calls[0]![0]).toBe(cause)
  })

  it.each([
    new StorageError('INTERNAL_ERROR', { message: 'The quota function must return an object.' }),
    new StorageError('DATABASE_UNAVAILABLE', { cause: new Error('ECONNREFUSED') }),
    new Error('of a hook', { cause: new Error('inner') }),
  ])('passes any other error unchanged: %s', (error) => {
    const listener = vi.fn()
    createReport(listener)(error, context)
    expect(listener.mock.calls[0]![0]).toBe(error)
  })

  it.each([null, undefined])('goes to console.error if the listener is %s', (listener) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const error = new Error('broken')
    createReport(listener)(error, context)
    expect(print).toHaveBeenCalledTimes(1)
    expect(print.mock.calls[0]).toContain(error)
    expect(print.mock.calls[0]![0]).toContain('db.listObjects')
  })

  it('ignores errors and rejections of the listener', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const throwing = () => {
      throw new Error('logger is down')
    }
    expect(() => createReport(throwing)(new Error('a'), context)).not.toThrow()
    createReport(() => Promise.reject(new Error('logger is down')))(new Error('b'), context)
    await settled()
    process.off('unhandledRejection', unhandled)
    expect(unhandled).not.toHaveBeenCalled()
  })
})
