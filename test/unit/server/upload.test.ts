import { StorageError, type ObjectStorage, type SignUploadInput } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { HOUR, SECOND } from '../../conformance/clock.js'
import { bytesOfSize, errorOf, startService } from './service.js'

const GIB = 1024 ** 3
const MIB = 1024 ** 2

describe('POST /upload', () => {
  it('returns the pending record and an upload URL', async () => {
    const { as, clock, objects } = startService()
    const response = await as('user:1').begin({ metadata: { album: 'summer' } })
    expect(response.status).toBe(201)
    expect(response.headers.get('cache-control')).toBe('private, no-store')

    const { object, upload } = (await response.json()) as {
      object: { id: string; key: string }
      upload: object
    }
    expect(object).toEqual({
      id: expect.any(String) as string,
      bucket: 'files',
      key: expect.stringMatching(/^default\/[0-9a-f]{32}$/) as string,
      status: 'pending',
      createdAt: clock.now().toISOString(),
      filename: 'a.txt',
      contentType: 'text/plain',
      declaredSize: 3,
      route: 'default',
    })
    expect(upload).toEqual({
      method: 'PUT',
      url: expect.stringMatching(/^https:\/\/app\.example\/api\/s3\/_storage\/[\w.-]+$/) as string,
      headers: {
        'content-type': 'text/plain',
        'if-none-match': '*',
        'x-amz-meta-attempt-id': object.id,
      },
      expiresAt: clock.in(900 * SECOND).toISOString(),
    })
    expect(await objects.findPending({ bucket: 'files', key: object.key })).toMatchObject({
      id: object.id,
      scope: 'user:1',
      storageKey: object.key,
      metadata: { album: 'summer' },
      uploadId: null,
    })
  })

  it('passes the end of the reservation to the storage', async () => {
    const inputs: SignUploadInput[] = []
    const storage = (memory: ObjectStorage): ObjectStorage => ({
      ...memory,
      signUpload(input) {
        inputs.push(input)
        return memory.signUpload(input)
      },
    })
    const { as, objects } = startService({ storage })
    const { object } = await as('user:1').begun()
    const row = await objects.findPending(object)
    expect(inputs).toMatchObject([{ writableUntil: row!.expiresAt }])
    expect(inputs[0]!.writableUntil! > inputs[0]!.expiresAt).toBe(true)
  })

  it('never returns the same key twice', async () => {
    const caller = startService().as('user:1')
    const keys = new Set<string>()
    for (let count = 0; count < 50; count++) keys.add((await caller.begun()).object.key)
    expect(keys.size).toBe(50)
  })

  it('stores metadata in the row and does not send it to the bucket', async () => {
    const { upload } = await startService()
      .as('user:1')
      .begun({ metadata: { secret: 'plan-b' } })
    expect(JSON.stringify(upload)).not.toContain('plan-b')
    expect(Object.keys(upload.headers)).toEqual(['content-type', 'if-none-match', 'x-amz-meta-attempt-id'])
  })

  it('requires no headers that browsers forbid', async () => {
    const { upload } = await startService().as('user:1').begun()
    const forbidden =
      /^(?:accept-charset|accept-encoding|access-control-.*|connection|content-length|cookie2?|date|dnt|expect|host|keep-alive|origin|referer|set-cookie|te|trailer|transfer-encoding|upgrade|via|proxy-.*|sec-.*)$/
    expect(Object.keys(upload.headers).filter((name) => forbidden.test(name))).toEqual([])
  })

  it('accepts null for optional fields', async () => {
    const { object } = await startService().as('user:1').begun({ route: null, metadata: null })
    expect(object.route).toBe('default')
  })

  it('accepts a file of 0 bytes', async () => {
    const { as } = startService()
    expect(await as('user:1').upload({ size: 0 })).toMatchObject({ status: 'active', size: 0 })
  })

  it('requires authentication', async () => {
    const { as, objects } = startService()
    expect(await errorOf(await as(null).begin())).toMatchObject({ status: 401, code: 'UNAUTHORIZED' })
    expect((await objects.listByScope({ scope: 'user:1' })).objects).toEqual([])
  })
})

describe('the guards of an upload', () => {
  it('run in order after input validation and before the reservation, and receive the plan', async () => {
    const seen: unknown[] = []
    const { as, objects, reported } = startService({
      upload: { guard: ({ request, ...context }) => seen.push(['upload', request.method, context]) },
      routes: { docs: { bucket: 'docs', guard: ({ key, route }) => seen.push(['route', key, route]) } },
    })
    const { object } = await as('user:1').begun()
    expect(seen).toEqual([
      ['upload', 'POST', { bucket: 'docs', key: object.key, scope: 'user:1', route: 'docs', size: 3 }],
      ['route', object.key, 'docs'],
    ])

    seen.length = 0
    expect((await as('user:1').begin({ size: -1 })).status).toBe(400)
    expect((await as(null).begin()).status).toBe(401)
    expect(seen).toEqual([])
    expect(await objects.countByScope('user:1')).toBe(1)
    expect(reported).toEqual([])
  })

  it('deny by throwing, and nothing runs after a denial', async () => {
    let later = 0
    const quota = () => {
      later++
      return null
    }
    const { as, objects, reportedBy } = startService({
      upload: {
        guard: () => {
          throw new Error('card expired')
        },
      },
      routes: { docs: { guard: () => void later++ } },
      quota,
    })
    expect(await errorOf(await as('user:1').begin())).toEqual({
      status: 403,
      code: 'FORBIDDEN',
      message: 'You do not have permission to do this.',
    })
    expect(later).toBe(0)
    expect(await objects.countByScope('user:1')).toBe(0)
    expect(await reportedBy('upload')).toEqual([new Error('card expired')])
  })

  it('can set the response with a StorageError', async () => {
    const { as, reported } = startService({
      routes: {
        docs: {
          guard: async () => {
            throw new StorageError('UNAUTHORIZED', { message: 'Sign in again.', params: { hint: 'sso' } })
          },
        },
      },
    })
    expect(await errorOf(await as('user:1').begin())).toEqual({
      status: 401,
      code: 'UNAUTHORIZED',
      message: 'Sign in again.',
      params: { hint: 'sso' },
    })
    expect(reported).toEqual([])
  })
})

describe('the lifetime of a reservation', () => {
  const reservedSeconds = async (options: Parameters<typeof startService>[0], size: number) => {
    const { as, objects, clock } = startService(options)
    const { object, upload } = await as('user:1').begun({ size })
    const row = await objects.findPending({ bucket: object.bucket, key: object.key })
    return {
      reserved: ((row?.expiresAt?.getTime() ?? NaN) - clock.time) / SECOND,
      url: (Date.parse(upload.expiresAt) - clock.time) / SECOND,
    }
  }

  it('is the lifetime of the URL, plus an hour, plus 1 second per 64 KiB or part thereof', async () => {
    expect(await reservedSeconds({}, 0)).toEqual({ reserved: 900 + 3600, url: 900 })
    expect(await reservedSeconds({}, 1)).toEqual({ reserved: 900 + 3600 + 1, url: 900 })
    expect(await reservedSeconds({}, 64 * 1024)).toEqual({ reserved: 900 + 3600 + 1, url: 900 })
    expect(await reservedSeconds({}, 64 * 1024 + 1)).toEqual({ reserved: 900 + 3600 + 2, url: 900 })
    expect(await reservedSeconds({}, GIB)).toEqual({ reserved: 900 + 3600 + 16384, url: 900 })
  })

  it('depends on expiresIn', async () => {
    expect(await reservedSeconds({ upload: { expiresIn: 60 } }, 0)).toEqual({ reserved: 3660, url: 60 })
  })

  it('is capped by pendingTtlSeconds, and no URL outlives it', async () => {
    expect(await reservedSeconds({ pendingTtlSeconds: 1000 }, MIB)).toEqual({ reserved: 1000, url: 900 })
    expect(await reservedSeconds({ pendingTtlSeconds: 100 }, MIB)).toEqual({ reserved: 100, url: 100 })
  })

  it('can end during a slow hook, which fails the upload', async () => {
    const service = startService({
      pendingTtlSeconds: 10,
      hooks: { onReserved: () => service.clock.advance(10 * SECOND) },
    })
    expect(await errorOf(await service.as('user:1').begin())).toMatchObject({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
    })
    expect(await service.objects.countByScope('user:1')).toBe(0)
  })

  it('does not prevent a late confirm before the reservation is released', async () => {
    const { as, clock } = startService()
    const { object, upload } = await as('user:1').begun()
    await as('user:1').put(upload, bytesOfSize(3))
    clock.advance(48 * HOUR)
    expect((await as('user:1').confirm(object)).status).toBe(200)
  })
})
