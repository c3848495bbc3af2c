import { preloadUpload } from '@svc/db/client'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { SECOND, timeUntilSettled } from './fake-time.js'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED, startClient } from './server.js'

beforeAll(preloadUpload)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const never = () => new Promise<Response>(() => undefined)

describe('the timeouts of an upload', () => {
  it('retries the confirm for about eight seconds, then aborts the attempt', async () => {
    let confirms = 0
    const { api, objects, sent } = startClient({
      before: async (request, serve) => {
        if (!request.url.endsWith('/confirm')) return serve()
        confirms += 1
        throw new TypeError('fetch failed')
      },
    })
    const upload = rejectionOf(api.upload(new Blob(['abc'])))
    const seconds = (await timeUntilSettled(upload)) / SECOND
    expect(seconds).toBeGreaterThan(7)
    expect(seconds).toBeLessThan(10)
    expect(await upload).toMatchObject({ code: 'NETWORK_ERROR' })
    expect(confirms).toBe(6)
    expect(sent.at(-1)?.target).toBe('/api/s3/upload/abort')
    expect(await objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('ends with an abort during the pause before a retry', async () => {
    let confirms = 0
    const { api, objects } = startClient({
      before: async (request, serve) => {
        if (!request.url.endsWith('/confirm')) return serve()
        confirms += 1
        throw new TypeError('fetch failed')
      },
    })
    const controller = new AbortController()
    const upload = rejectionOf(api.upload(new Blob(['abc']), { signal: controller.signal }))
    await expect.poll(() => [confirms, vi.getTimerCount()]).toEqual([1, 1])
    controller.abort()
    expect(await upload).toMatchObject({ code: 'ABORTED' })
    expect(confirms).toBe(1)
    expect(await objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it('don’t delay an abort, after which the next upload waits `stallSeconds` for the start request', async () => {
    let isSilent = true
    const { api, sent } = startClient({ before: (_request, serve) => (isSilent ? never() : serve()) })
    const controller = new AbortController()
    const upload = rejectionOf(api.upload(new Blob(['abc']), { signal: controller.signal }))
    await expect.poll(() => sent.length).toBe(1)
    controller.abort()
    expect(await timeUntilSettled(upload)).toBe(0)
    expect(await upload).toMatchObject({ code: 'ABORTED' })
    isSilent = false
    const next = api.upload(new Blob(['abc']))
    expect((await timeUntilSettled(next)) / SECOND).toBeCloseTo(30, 0)
    expect(await next).toMatchObject({ status: 'active' })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('limits the wait for the abort request to ten seconds', async () => {
    const { api, sent } = startClient({
      before: async (request, serve) => {
        if (request.method === 'PUT') return new Response(null, { status: 400 })
        return request.url.endsWith('/abort') ? never() : serve()
      },
    })
    const upload = rejectionOf(api.upload(new Blob(['abc'])))
    await expect.poll(() => sent.at(-1)?.target).toBe('/api/s3/upload/abort')
    expect((await timeUntilSettled(upload)) / SECOND).toBeCloseTo(10, 0)
    expect(await upload).toMatchObject({ status: 400 })
  })

  it('removes all timers and listeners', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    let confirms = 0
    const { api } = startClient({
      before: async (request, serve) => {
        if (request.url.endsWith('/confirm') && confirms++ === 0) throw new TypeError('fetch failed')
        return serve()
      },
    })
    const upload = api.upload(new Blob(['abc']), { signal })
    await timeUntilSettled(upload)
    expect(await upload).toMatchObject({ status: 'active' })
    expect(vi.getTimerCount()).toBe(0)
    // The runtime's Request adds listeners named `abort`, and removes them on garbage collection.
    const listeners = added.mock.calls
      .map(([, listener]) => listener)
      .filter((listener) => typeof listener === 'function' && listener.name !== 'abort')
    const removedListeners = new Set(removed.mock.calls.map(([, listener]) => listener))
    expect(listeners.length).toBeGreaterThan(0)
    expect(listeners.filter((listener) => !removedListeners.has(listener))).toEqual([])
  })
})
