import { StorageError, type UploadRoute } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { doors } from './doors.js'
import { BASE, startService } from './service.js'

const LIMITS: Readonly<Record<string, number | null>> = { 'user:free': 3, 'user:none': 0, 'user:paid': null }

describe.each(doors)('maxFileSize as a function, for $name', ({ name, store }) => {
  const path = name.startsWith('POST') ? name.slice('POST '.length) : null

  function serviceWith(maxFileSize: UploadRoute['maxFileSize']) {
    return startService({ routes: { docs: { maxFileSize } } })
  }

  it('limits each owner, and knows the request, if there is one', async () => {
    const asked: unknown[] = []
    const service = serviceWith(async (scope, request) => {
      asked.push([scope, request?.url])
      return LIMITS[scope]!
    })
    const url = path === null ? undefined : BASE + path
    for (const [scope, size] of [
      ['user:free', 3],
      ['user:none', 0],
      ['user:paid', 4],
    ] as const) {
      expect(await store(service, { scope, size })).toMatchObject({ scope, size })
      expect(asked.splice(0)).toEqual([[scope, url]])
    }
    await expect(store(service, { scope: 'user:free', size: 4 })).rejects.toMatchObject({
      ...{ code: 'FILE_TOO_LARGE', params: { max: 3, size: 4 } },
    })
    await expect(store(service, { scope: 'user:none', size: 1 })).rejects.toMatchObject({
      params: { max: 0 },
    })
    expect(service.reported).toEqual([])
  })

  it.each([undefined, -1, 0.5, NaN, Infinity, '3', 2 ** 53, {}])(
    'is an INTERNAL_ERROR that onError gets if it returns %s',
    async (result) => {
      const service = serviceWith(() => result as never)
      await expect(store(service)).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
      const message =
        /^The maxFileSize function of the upload route "docs" must return a number of bytes or null \(got /
      expect(service.reported.map(({ error }) => error)).toMatchObject([
        { code: 'INTERNAL_ERROR', message: expect.stringMatching(message) as string },
      ])
      expect(await service.objects.countByScope('user:1')).toBe(0)
    },
  )

  it('keeps the code of a StorageError that it throws, and reports other errors', async () => {
    const known = serviceWith(() => Promise.reject(new StorageError('FORBIDDEN', { message: 'No plan.' })))
    await expect(store(known)).rejects.toMatchObject({ code: 'FORBIDDEN', message: 'No plan.' })
    expect(known.reported).toEqual([])
    const failure = new Error('plans.internal is down')
    const unknown = serviceWith(() => Promise.reject(failure))
    await expect(store(unknown)).rejects.toMatchObject({ code: 'INTERNAL_ERROR' })
    expect(unknown.reported.map(({ error }) => error)).toEqual([failure])
  })
})
