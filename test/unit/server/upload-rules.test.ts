import { describe, expect, it } from 'vitest'
import { errorOf, startService, type ServiceOptions } from './service.js'

const rulesOf = async (options: ServiceOptions, scope = 'user:1') => {
  const response = await startService(options).as(scope).send('GET', '/upload/rules')
  return (await response.json()) as unknown
}

describe('GET /upload/rules', () => {
  it('has the rules of every open route', async () => {
    const routes = {
      photos: { maxFileSize: 5_000_000, contentTypes: ['IMAGE/*', 'video/mp4; codecs="avc1"'] },
      'any file': {},
      thumbnails: { http: false },
    }
    expect(await rulesOf({ routes })).toEqual({
      routes: {
        photos: { maxFileSize: 5_000_000, contentTypes: ['image/*', 'video/mp4'], multipart: true },
        'any file': { maxFileSize: null, contentTypes: null, multipart: true },
      },
    })
    expect(await rulesOf({ routes: { thumbnails: { http: false } } })).toEqual({ routes: {} })
  })

  it("calls the functions of plans for the caller, with the request, and knows no other caller's", async () => {
    const asked: unknown[] = []
    const maxFileSize = async (scope: string, request?: Request) => {
      asked.push(scope, request?.url.endsWith('/upload/rules'))
      return scope === 'user:1' ? 10 : null
    }
    const routes = { docs: { maxFileSize } }
    expect(await rulesOf({ routes })).toMatchObject({ routes: { docs: { maxFileSize: 10 } } })
    expect(await rulesOf({ routes }, 'user:2')).toMatchObject({ routes: { docs: { maxFileSize: null } } })
    expect(asked).toEqual(['user:1', true, 'user:2', true])
  })

  it('reports a broken plan, and does not guess a limit', async () => {
    const service = startService({ routes: { docs: { maxFileSize: () => -1 } } })
    const response = await service.as('user:1').send('GET', '/upload/rules')
    expect((await errorOf(response)).code).toBe('INTERNAL_ERROR')
    expect(service.reported).toMatchObject([{ error: { code: 'INTERNAL_ERROR' } }])
  })

  it.each<[string, ServiceOptions, unknown]>([
    ['with multipart: false', { multipart: false }, false],
    ['with upload: false', { upload: false }, true],
    [
      'with a storage that has no uploads in parts',
      { storage: (memory) => ({ ...memory, multipart: undefined as never }) },
      false,
    ],
  ])('says whether files can come in parts: %s', async (_, options, multipart) => {
    expect(await rulesOf(options)).toMatchObject({ routes: { default: { multipart } } })
  })

  it.each<[string, ServiceOptions]>([
    ['upload: false and multipart: false', { upload: false, multipart: false }],
    [
      'upload: false and a storage that has no uploads in parts',
      { upload: false, storage: (memory) => ({ ...memory, multipart: undefined as never }) },
    ],
  ])('is unknown with %s', async (_, options) => {
    expect(await rulesOf(options)).toMatchObject({ code: 'NOT_FOUND' })
  })
})
