import { Readable } from 'node:stream'
import type { QuotaSource } from '@svc/db'
import { describe, expect, it } from 'vitest'
import { chunksOf, iterableOf, PART, pattern, readAll, streamOf } from './bodies.js'
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

  it.each([1, PART, 2 * PART + 1])(
    'stores a file of %d bytes, whatever the size of its chunks',
    async (size) => {
      const bytes = pattern(size)
      const service = watchedService()
      const { body } = iterableOf(chunksOf(bytes, PART / 4 + 7))
      const { key } = await service.files.put({ scope: OWNER, body, size })
      expect(Buffer.compare(await stored(service, key), bytes)).toBe(0)
    },
  )

  it('completes what it has written without listing it', async () => {
    const service = watchedService({
      storage: ({ multipart, ...memory }) => ({
        ...memory,
        multipart: { ...multipart!, listParts: () => Promise.reject(new Error('not listed')) },
      }),
    })
    const bytes = pattern(PART + 3)
    const { key } = await service.files.put({ scope: OWNER, body: bytes })
    expect(Buffer.compare(await stored(service, key), bytes)).toBe(0)
  })

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

  it('takes the type of a Blob, unless the call names one', async () => {
    const { files } = watchedService()
    const blob = new Blob(['hello'], { type: 'text/plain' })
    const types = []
    for (const file of [
      { body: blob },
      { body: blob, contentType: 'text/csv' },
      { body: new Blob(['hello']) },
    ]) {
      types.push((await files.put({ scope: OWNER, ...file })).contentType)
    }
    expect(types).toEqual(['text/plain', 'text/csv', 'application/octet-stream'])
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
})

describe('the quota of files.put', () => {
  it('can be set for a call', async () => {
    const { files, objects } = watchedService({ quota: { maxFiles: 0 } })
    await expect(files.put({ scope: OWNER, body: 'x', quota: { maxBytes: 0 } })).rejects.toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    expect(await files.put({ scope: OWNER, body: 'x', quota: {} })).toMatchObject({ size: 1 })
    expect(await files.put({ scope: OWNER, body: 'x', quota: false })).toMatchObject({ size: 1 })
    expect(await objects.getScopeUsage(OWNER)).toMatchObject({ bytes: 2, files: 2 })
  })

  it('is by default what the function of db() returns for the scope, without a request', async () => {
    const asked: unknown[] = []
    const quota: QuotaSource = async (...given) => {
      asked.push(given)
      return { id: 7, plan: 'free', maxFiles: 1 }
    }
    const { files } = watchedService({ quota })
    expect(await files.put({ scope: OWNER, body: 'x' })).toMatchObject({ size: 1 })
    await expect(files.put({ scope: OWNER, body: 'x' })).rejects.toMatchObject({ code: 'QUOTA_EXCEEDED' })
    expect(asked).toEqual([
      [OWNER, undefined],
      [OWNER, undefined],
    ])
    expect(await files.put({ scope: OWNER, body: 'x', quota: false })).toMatchObject({ size: 1 })
    expect(asked).toHaveLength(2)
  })

  it('stores nothing and stops the body if the function of db() needs a request', async () => {
    const needsRequest = ((_scope: string, { url }: Request) => ({ maxBytes: url.length })) as QuotaSource
    const { files, reported, expectNothing } = watchedService({ quota: needsRequest })
    const { body, isStopped } = iterableOf([HELLO])
    const error = await rejection(files.put({ scope: OWNER, body, size: 5 }))
    expect(error).toMatchObject({ code: 'INTERNAL_ERROR', cause: expect.any(TypeError) as TypeError })
    expect(isStopped()).toBe(true)
    expect(reported).toMatchObject([{ error: (error as Error).cause, operation: 'files.put' }])
    await expectNothing()
  })
})
