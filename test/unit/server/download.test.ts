import { StorageError, type SignDownloadInput } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { SECOND } from '../../conformance/clock.js'
import { bytesOfSize, errorOf, expectStatus, fetchBytes, startService } from './service.js'

describe('GET /download', () => {
  it('returns a URL for the bytes', async () => {
    const { as, clock } = startService()
    const caller = as('user:1')
    const { key } = await caller.upload({ filename: 'Ferien \u{1F3D6}.txt' })
    const body = (await expectStatus(await caller.download(key), 200)) as { url: string }
    expect(body).toEqual({
      url: expect.stringMatching(/^https:\/\/app\.example\/api\/s3\/_storage\//) as string,
      expiresAt: clock.in(900 * SECOND).toISOString(),
    })
    const response = await caller.handler(new Request(body.url))
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(bytesOfSize(3))
    expect(response.headers.get('content-type')).toBe('text/plain')
    expect(response.headers.get('content-disposition')).toContain(
      "filename*=UTF-8''Ferien%20%F0%9F%8F%96.txt",
    )
  })

  it('sets the lifetime of the URL to expiresIn', async () => {
    const { as, clock } = startService({ download: { expiresIn: 60 } })
    const { key } = await as('user:1').upload()
    const { url } = (await expectStatus(await as('user:1').download(key), 200)) as { url: string }
    clock.advance(60 * SECOND - 1)
    await fetchBytes(as(null), url)
    clock.advance(1)
    expect((await as(null).handler(new Request(url))).status).toBe(403)
  })

  it('is limited to active objects', async () => {
    const { as } = startService()
    const { object } = await as('user:1').begun()
    expect(await errorOf(await as('user:1').download(object.key))).toMatchObject({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
    })
    const gone = await as('user:1').upload()
    await as('user:1').delete(gone.key)
    expect((await as('user:1').download(gone.key)).status).toBe(404)
  })

  it.each([
    ['no key', '', 'key'],
    ['an empty key', 'key=', 'key'],
    ['two keys', 'key=a&key=b', 'key'],
    ['an empty bucket', 'key=a&bucket=', 'bucket'],
    ['two buckets', 'key=a&bucket=b&bucket=b', 'bucket'],
    ['a key of 1025 bytes', `key=${'x'.repeat(1025)}`, 'key'],
    ['a key that is not UTF-8', 'key=%ff', 'key'],
    ['a key with NUL', 'key=a%00', 'key'],
  ])('refuses %s', async (_, query, field) => {
    const caller = startService().as('user:1')
    for (const [method, path] of [
      ['GET', '/download'],
      ['DELETE', '/object'],
    ] as const) {
      expect(await errorOf(await caller.send(method, `${path}?${query}`))).toMatchObject({
        status: 400,
        code: 'VALIDATION_ERROR',
        params: { field },
      })
    }
  })

  it('uses the key as file name if there is none, and the key as storage key of adopted objects', async () => {
    const signed: SignDownloadInput[] = []
    const { as, objects, clock } = startService({
      storage: (memory) => ({
        ...memory,
        signDownload: (input) => (signed.push(input), memory.signDownload(input)),
      }),
    })
    const row = { bucket: 'files', key: 'own/file' }
    await objects.reserve({ ...row, scope: 'user:1', declaredSize: 1, expiresAt: clock.in(SECOND) })
    await objects.confirm({ ...row, size: 1 })
    expect((await as('user:1').download('own/file')).status).toBe(200)
    expect(signed).toMatchObject([{ ...row, filename: 'own/file', contentType: null }])
  })

  it('runs its guard after the ownership check', async () => {
    const seen: unknown[] = []
    const { as, objects } = startService({
      download: {
        guard: ({ request, ...context }) => {
          seen.push([new URL(request.url).pathname, context])
          throw new StorageError('FORBIDDEN', { message: 'Not on Sundays.' })
        },
      },
    })
    const object = await as('user:1').upload()
    expect(await errorOf(await as('user:1').download(object.key))).toEqual({
      status: 403,
      code: 'FORBIDDEN',
      message: 'Not on Sundays.',
    })
    expect((await as('user:2').download(object.key)).status).toBe(404)
    expect((await as('user:1').download('missing')).status).toBe(404)
    expect((await as(null).download(object.key)).status).toBe(401)
    const row = await objects.findActive(object)
    const { bucket, key } = object
    expect(seen).toEqual([
      ['/api/s3/download', { bucket, key, scope: 'user:1', object: row, route: 'default', size: 3 }],
    ])
  })

  it('responds to HEAD without a body', async () => {
    const { as } = startService()
    const { key } = await as('user:1').upload()
    const response = await as('user:1').send('HEAD', `/download?${new URLSearchParams({ key }).toString()}`)
    expect([response.status, await response.text()]).toEqual([200, ''])
  })
})
