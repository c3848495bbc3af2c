import { StorageError } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { errorOf, startService } from './service.js'

describe('a storage that fails', () => {
  it('is reported as STORAGE_UNAVAILABLE and leaves the reservation', async () => {
    const cause = new Error('getaddrinfo ENOTFOUND bucket.internal')
    const { as, objects, reportedBy } = startService({
      storage: (memory) => ({ ...memory, head: () => Promise.reject(cause) }),
    })
    const { object } = await as('user:1').begun()
    expect(await errorOf(await as('user:1').confirm(object))).toEqual({
      status: 502,
      code: 'STORAGE_UNAVAILABLE',
      message: 'The storage is unavailable.',
    })
    expect(await objects.findPending(object)).not.toBeNull()
    expect(await reportedBy('upload.confirm')).toMatchObject([{ code: 'STORAGE_UNAVAILABLE', cause }])
  })

  it('is handled likewise if it throws synchronously', async () => {
    const { as } = startService({
      storage: (memory) => ({
        ...memory,
        head() {
          throw new TypeError('bad config')
        },
      }),
    })
    const { object } = await as('user:1').begun()
    expect((await as('user:1').confirm(object)).status).toBe(502)
  })

  it('releases the reservation if it cannot sign the URL', async () => {
    const { as, objects, reportedBy } = startService({
      storage: (memory) => ({ ...memory, signUpload: () => Promise.reject(new Error('no credentials')) }),
    })
    expect((await as('user:1').begin()).status).toBe(502)
    expect(await objects.countByScope('user:1')).toBe(0)
    expect(await reportedBy('upload')).toMatchObject([{ cause: { message: 'no credentials' } }])
  })

  it('leaves the reservation to expire if the release fails too', async () => {
    const { objects, as, reportedBy } = startService({
      storage: (memory) => ({ ...memory, signUpload: () => Promise.reject(new Error('no credentials')) }),
    })
    objects.release = () => Promise.reject(new StorageError('DATABASE_UNAVAILABLE'))
    expect((await as('user:1').begin()).status).toBe(502)
    expect(await objects.countByScope('user:1')).toBe(1)
    expect(await reportedBy('upload')).toMatchObject([
      { code: 'DATABASE_UNAVAILABLE' },
      { code: 'STORAGE_UNAVAILABLE' },
    ])
  })

  it('is no longer called after the client disconnects', async () => {
    const abort = new AbortController()
    const signals: (AbortSignal | undefined)[] = []
    const { as, s3 } = startService({
      storage: (memory) => ({
        ...memory,
        signDownload(input) {
          signals.push(input.signal)
          abort.abort()
          return memory.signDownload(input)
        },
      }),
    })
    const caller = as('user:1')
    const { key } = await caller.upload()
    const request = caller.request('GET', `/download?key=${encodeURIComponent(key)}`)
    expect((await s3.handler(new Request(request, { signal: abort.signal }))).status).toBe(502)
    expect(signals.map((signal) => signal?.aborted)).toEqual([true])
  })
})
