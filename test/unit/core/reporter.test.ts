import { afterEach, describe, expect, it, vi } from 'vitest'
import { StorageError } from '@svc/db'
import { createReport } from '../../../src/core/reporter.js'
import { ManualClock, MINUTE } from '../../conformance/clock.js'

const request = new Request('http://localhost/')
const context = { request, operation: 'db.listObjects' }

describe('a report', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  describe('with the request of a client that has disconnected', () => {
    const reasons: Readonly<Record<string, unknown>> = {
      'an AbortError': new DOMException('This operation was aborted', 'AbortError'),
      'an error of the application': new Error('the client is gone'),
      'a text': 'gone',
    }

    function reported(error: unknown, reason: unknown) {
      const listener = vi.fn()
      const signal = AbortSignal.abort(reason)
      const left = new Request('http://localhost/', { signal })
      createReport(listener)(error, { request: left, operation: 'upload.confirm' })
      return listener.mock.calls.map(([first]) => first as unknown)
    }

    it.each(Object.entries(reasons))('ignores a call that was cancelled with %s', (_, reason) => {
      const wrapped = new Error('HEAD failed', { cause: reason })
      for (const code of ['STORAGE_UNAVAILABLE', 'DATABASE_UNAVAILABLE', 'INTERNAL_ERROR'] as const) {
        expect(reported(new StorageError(code, { cause: reason }), reason)).toEqual([])
        expect(reported(new StorageError(code, { cause: wrapped }), reason)).toEqual([])
      }
    })

    it('ignores the AbortError of a driver', () => {
      const cause = Object.assign(new Error('Request aborted'), { name: 'AbortError' })
      expect(reported(new StorageError('STORAGE_UNAVAILABLE', { cause }), reasons['a text'])).toEqual([])
    })

    it.each(Object.entries(reasons))('passes on a failure that coincides with %s', (_, reason) => {
      for (const cause of [new Error('ECONNREFUSED'), undefined, 'disk full']) {
        const error = new StorageError('STORAGE_UNAVAILABLE', { cause })
        expect(reported(error, reason)).toEqual([error])
      }
      const cyclic = new Error('a')
      cyclic.cause = cyclic
      const error = new StorageError('STORAGE_UNAVAILABLE', { cause: cyclic })
      expect(reported(error, reason)).toEqual([error])
    })

    it('passes on what a hook throws', () => {
      const error = new DOMException('This operation was aborted', 'AbortError')
      expect(reported(error, error)).toEqual([error])
    })
  })

  it('passes on an AbortError while the client is connected', () => {
    const listener = vi.fn()
    const cause = new DOMException('The operation timed out', 'AbortError')
    const error = new StorageError('STORAGE_UNAVAILABLE', { cause })
    createReport(listener)(error, context)
    createReport(listener)(error, { operation: 'cleanUp' })
    expect(listener.mock.calls.map(([first]) => first as unknown)).toEqual([error, error])
  })

  it.each([null, undefined])('goes to console.error if the listener is %s', (listener) => {
    const print = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const error = new Error('broken')
    createReport(listener)(error, context)
    expect(print).toHaveBeenCalledTimes(1)
    expect(print.mock.calls[0]).toContain(error)
    expect(print.mock.calls[0]![0]).toContain('db.listObjects')
  })

  it('passes on the same overload ten times a minute, and every failure', () => {
    const clock = new ManualClock()
    const listener = vi.fn()
    const report = createReport(listener, clock.now)
    const send = (times: number, ...errors: readonly StorageError[]) => {
      for (let i = 0; i < times; i++) for (const error of errors) report(error, context)
      return listener.mock.calls.splice(0).length
    }
    const full = new StorageError('DATABASE_UNAVAILABLE', { message: '10000 are waiting already.' })
    const slow = new StorageError('DATABASE_UNAVAILABLE', { message: 'Earlier writes took longer.' })
    expect(send(50, full, slow)).toBe(20)
    clock.advance(MINUTE - 1)
    expect(send(50, full)).toBe(0)
    clock.advance(1)
    expect(send(50, full)).toBe(10)

    const cause = new Error('ECONNREFUSED')
    const lost = new StorageError('DATABASE_UNAVAILABLE', { cause })
    const unusable = new StorageError('DATABASE_UNAVAILABLE', { message: 'no schema', retryable: false })
    expect(send(50, lost, unusable, new StorageError('STORAGE_UNAVAILABLE'))).toBe(150)
  })
})
