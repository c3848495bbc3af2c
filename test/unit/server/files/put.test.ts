import { Readable } from 'node:stream'
import { cleanUp, type ActivatedEvent, type ReservedEvent } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { chunksOf, iterableOf, MIB, PART, pattern, readAll, streamOf } from './bodies.js'
import { OWNER, rejection, watchedService } from './watched-service.js'

const HELLO = new TextEncoder().encode('hello')

async function stored(service: ReturnType<typeof watchedService>, key: string): Promise<Uint8Array> {
  return readAll((await service.files.get({ key })).body)
}

describe('files.put', () => {
  it.each([
    ['a string', 'hello'],
    ['a Uint8Array', HELLO],
    ['a Buffer', Buffer.from('hello')],
    ['a view of a larger buffer', new TextEncoder().encode('>hello<').subarray(1, 6)],
    ['an ArrayBuffer', HELLO.buffer],
    ['a Blob', new Blob(['hello'])],
  ])('stores %s', async (_, body) => {
    const service = watchedService()
    const row = await service.files.put({ scope: OWNER, body })
    expect(row).toMatchObject({ scope: OWNER, status: 'active', size: 5, route: 'default', filename: null })
    expect(new TextDecoder().decode(await stored(service, row.key))).toBe('hello')
    expect(await service.objects.findActive(row)).toEqual(row)
  })

  it.each([
    ['a ReadableStream', () => streamOf(chunksOf(HELLO, 2)).body],
    ['an AsyncIterable', () => iterableOf(chunksOf(HELLO, 2)).body],
    ['a Node.js stream', () => Readable.from([HELLO.subarray(0, 4), Buffer.from('o')])],
    [
      'an async generator',
      async function* () {
        yield HELLO
        yield new Uint8Array()
      },
    ],
  ])('stores %s of a given size', async (_, body) => {
    const service = watchedService()
    const row = await service.files.put({ scope: OWNER, body: body(), size: 5 })
    expect(await stored(service, row.key)).toEqual(HELLO)
  })

  it.each([0, 1, PART, PART + 1, 2 * PART, 2 * PART + 1])(
    'stores a file of %d bytes, whatever the size of its chunks',
    async (size) => {
      const bytes = pattern(size)
      for (const chunk of [size || 1, 3 * MIB + 7]) {
        const service = watchedService()
        const { body } = iterableOf(chunksOf(bytes, chunk))
        const row = await service.files.put({ scope: OWNER, body, size })
        expect(row.size).toBe(size)
        expect(Buffer.compare(await stored(service, row.key), bytes)).toBe(0)
      }
    },
  )

  it('writes a file of one part at once, and a larger one in parts', async () => {
    const service = watchedService({
      storage: ({ multipart, ...memory }) => ({
        ...memory,
        multipart: { ...multipart!, create: () => Promise.reject(new Error('not at once')) },
      }),
    })
    const file = { scope: OWNER, contentType: 'text/plain' }
    await service.files.put({ ...file, body: new Uint8Array(PART) })
    await expect(service.files.put({ ...file, body: new Uint8Array(PART + 1) })).rejects.toMatchObject({
      code: 'STORAGE_UNAVAILABLE',
    })
  })

  it('encodes characters of every length', async () => {
    const text = `a${'é€😀'.repeat(40_000)}😀`
    for (const body of [text, text.slice(1), 'x'.repeat(65_535) + '😀', '']) {
      const service = watchedService()
      const row = await service.files.put({ scope: OWNER, body })
      expect(row.size).toBe(Buffer.byteLength(body))
      expect(new TextDecoder().decode(await stored(service, row.key))).toBe(body)
    }
  })

  it('records what the call and the Blob say about the file', async () => {
    const { files } = watchedService()
    const blob = new Blob(['hello'], { type: 'text/plain' })
    const described = { filename: 'a.txt', metadata: { source: 'import' } }
    expect(await files.put({ scope: OWNER, body: blob, ...described })).toMatchObject({
      ...described,
      contentType: 'text/plain',
      declaredSize: null,
    })
    const types = [
      await files.put({ scope: OWNER, body: blob, contentType: 'text/csv' }),
      await files.put({ scope: OWNER, body: 'hello' }),
      await files.put({ scope: OWNER, body: new Blob(['hello']) }),
    ]
    expect(types.map(({ contentType }) => contentType)).toEqual([
      'text/csv',
      'application/octet-stream',
      'application/octet-stream',
    ])
  })

  it('applies the rules of the route', async () => {
    const { files, objects } = watchedService({
      routes: {
        avatars: {
          key: ({ scope, filename }) => `${scope}/${filename}`,
          bucket: 'avatars',
          overwrite: true,
          maxFileSize: 5,
          contentTypes: ['image/*'],
        },
        others: { key: () => 'fixed' },
      },
    })
    const avatar = { scope: OWNER, route: 'avatars', filename: 'me', contentType: 'image/png' }
    const first = await files.put({ ...avatar, body: 'one' })
    expect(first).toMatchObject({ bucket: 'avatars', key: `${OWNER}/me`, route: 'avatars' })
    const second = await files.put({ ...avatar, body: 'two!' })
    expect(second).toMatchObject({ id: first.id, key: first.key, size: 4 })
    expect(second.storageKey).not.toBe(first.storageKey)

    await expect(files.put({ ...avatar, body: '123456' })).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      params: { max: 5, size: 6 },
    })
    await expect(files.put({ ...avatar, body: 'x', contentType: 'text/html' })).rejects.toMatchObject({
      code: 'CONTENT_TYPE_NOT_ALLOWED',
    })
    await expect(files.put({ scope: OWNER, body: 'x' })).rejects.toMatchObject({ params: { field: 'route' } })
    const other = { scope: OWNER, route: 'others', filename: 'a' }
    await files.put({ ...other, body: 'x' })
    await expect(files.put({ ...other, body: 'x' })).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    expect(await objects.countByScope(OWNER)).toBe(2)
  })

  it('uses the key of the call instead of that of the route', async () => {
    const { files } = watchedService({ routes: { docs: { key: () => 'fixed', overwrite: true } } })
    const row = await files.put({ scope: OWNER, body: 'x', key: 'imports/1' })
    expect(row.key).toBe('imports/1')
    expect(await files.put({ scope: OWNER, body: 'y', key: 'imports/1' })).toMatchObject({ id: row.id })
  })

  it('does not call resolveScope, guards and the metadata function', async () => {
    const never = () => {
      throw new Error('must not be called')
    }
    const { files, reported } = watchedService({
      resolveScope: never,
      upload: { guard: never },
      multipart: { guard: never },
      download: { guard: never },
      delete: { guard: never },
      routes: { docs: { guard: never, metadata: never }, plain: { metadata: false } },
    })
    const metadata = { a: 'b' }
    const row = await files.put({ scope: OWNER, route: 'docs', body: 'x', metadata })
    expect(row.metadata).toEqual(metadata)
    expect((await files.put({ scope: OWNER, route: 'plain', body: 'x', metadata })).metadata).toEqual(
      metadata,
    )
    await (await files.get({ key: row.key })).body.cancel()
    await files.delete({ key: row.key })
    expect(reported).toEqual([])
  })

  it('works on a server without upload endpoints', async () => {
    const { files } = watchedService({ upload: false, multipart: false, download: false, delete: false })
    const { key } = await files.put({ scope: OWNER, body: pattern(PART + 1) })
    expect(await files.delete({ key })).toMatchObject({ key })
  })

  it('calls the hooks without a request', async () => {
    const events: object[] = []
    const { files } = watchedService({
      routes: { docs: { key: () => 'k', overwrite: true } },
      hooks: {
        onReserved: (event: ReservedEvent) => events.push({ hook: 'onReserved', ...event }),
        onActivated: (event: ActivatedEvent) => events.push({ hook: 'onActivated', ...event }),
      },
    })
    const first = await files.put({ scope: OWNER, filename: 'a', body: 'one' })
    const second = await files.put({ scope: OWNER, filename: 'a', body: 'two' })
    expect(events).toEqual([
      { hook: 'onReserved', object: expect.objectContaining({ status: 'pending' }) as object },
      { hook: 'onActivated', object: first, replaced: null },
      { hook: 'onReserved', object: expect.objectContaining({ id: second.attemptId }) as object },
      { hook: 'onActivated', object: second, replaced: first },
    ])
  })

  it('reports a failing hook, and returns the object', async () => {
    const { files, reported } = watchedService({
      hooks: {
        onActivated: () => {
          throw new Error('index is down')
        },
      },
    })
    expect(await files.put({ scope: OWNER, body: 'x' })).toMatchObject({ status: 'active' })
    expect(reported).toMatchObject([{ operation: 'onActivated', request: undefined }])
  })

  it('reports progress after each part', async () => {
    const { files } = watchedService()
    const progress: object[] = []
    const onProgress = (state: object) => void progress.push(state)
    await files.put({ scope: OWNER, body: new Uint8Array(2 * PART + 3), onProgress })
    const total = 2 * PART + 3
    expect(progress).toEqual([
      { loaded: PART, total },
      { loaded: 2 * PART, total },
      { loaded: total, total },
    ])
    progress.length = 0
    await files.put({ scope: OWNER, body: '', onProgress })
    expect(progress).toEqual([{ loaded: 0, total: 0 }])
  })

  it('reserves for pendingTtlSeconds', async () => {
    const expiries: (Date | null)[] = []
    const { files, clock } = watchedService({
      pendingTtlSeconds: 7200,
      hooks: { onReserved: ({ object }) => void expiries.push(object.expiresAt) },
    })
    await files.put({ scope: OWNER, body: 'x' })
    expect(expiries).toEqual([clock.in(7_200_000)])
  })

  it('ends an earlier attempt at the same key that a stopped process has left', async () => {
    const { files, objects, expectNothing } = watchedService()
    const reservation = { scope: OWNER, bucket: 'files', key: 'job/7', declaredSize: 1 }
    await objects.reserve({ ...reservation, expiresAt: new Date(Date.now() + 1e9), storageKey: 'job/7~1' })
    const row = await files.put({ scope: OWNER, key: 'job/7', body: 'x' })
    expect(await objects.findPending(row)).toBeNull()
    await files.delete({ key: row.key, mode: 'hard' })
    await expectNothing()
  })
})

describe('the quota of files.put', () => {
  it('defaults to that of db()', async () => {
    const { files, expectNothing } = watchedService({ quota: { maxBytes: 4 } })
    await expect(files.put({ scope: OWNER, body: 'hello' })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    await expectNothing()
    expect(await files.put({ scope: OWNER, body: 'four' })).toMatchObject({ size: 4 })
  })

  it('can be set for a call', async () => {
    const { files } = watchedService({ quota: { maxFiles: 0 } })
    await expect(files.put({ scope: OWNER, body: 'x', quota: { maxBytes: 0 } })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    expect(await files.put({ scope: OWNER, body: 'x', quota: {} })).toMatchObject({ size: 1 })
  })

  it('is required if that of db() is a function', async () => {
    const { files, reported, expectNothing } = watchedService({ quota: () => ({ maxFiles: 0 }) })
    const { body, isStopped } = iterableOf([HELLO])
    const error = await rejection(files.put({ scope: OWNER, body, size: 5 }))
    expect(error).toBeInstanceOf(TypeError)
    expect((error as Error).message).toMatch(/quota must be set/)
    expect(isStopped()).toBe(true)
    expect(reported).toEqual([])
    await expectNothing()
    expect(await files.put({ scope: OWNER, body: 'hello', quota: {} })).toMatchObject({ size: 5 })
  })

  it('is exact for concurrent calls', async () => {
    const { files, objects } = watchedService({ quota: { maxBytes: 25, maxFiles: 4 } })
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, index) =>
        files.put({ scope: OWNER, body: 'hello', ...(index % 2 === 0 && { key: `k${index}` }) }),
      ),
    )
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(4)
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'QUOTA_EXCEEDED' })
    }
    expect(await objects.getScopeUsage(OWNER)).toMatchObject({ bytes: 20, files: 4, reservedFiles: 0 })
  })

  it('counts no lapsed reservations, as in POST /upload', async () => {
    const { files, as, clock, s3 } = watchedService({ quota: { maxFiles: 1 } })
    await as(OWNER).begun()
    await expect(files.put({ scope: OWNER, body: 'x' })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    clock.advance(90_000_000)
    expect(await files.put({ scope: OWNER, body: 'x' })).toMatchObject({ status: 'active' })
    expect((await cleanUp(s3)).reservations).toEqual([])
  })
})
