import type { UploadProgress } from '@svc/db/client'
import { describe, expect, it, vi } from 'vitest'
import { rejectionOf } from './rejection.js'
import { bytesAt, NOTHING_USED, startClient } from './server.js'

describe('api.upload', () => {
  it('uploads a file and resolves to its record', async () => {
    const { api, fetch, objects } = startClient()
    const file = new File(['Grüße'], 'größe.txt', { type: 'text/plain; charset=utf-8' })
    const object = await api.upload(file, { metadata: { album: 'summer', __proto__: 'x' } })
    expect(object).toMatchObject({
      status: 'active',
      filename: 'größe.txt',
      contentType: 'text/plain;charset=utf-8'.replace(';', '; '),
      size: 7,
      route: 'default',
    })
    expect(await bytesAt(fetch, (await api.download(object)).url)).toBe('Grüße')
    expect(await objects.findActive(object)).toMatchObject({ metadata: { album: 'summer' } })
    expect(await objects.getScopeUsage('ada')).toEqual({ ...NOTHING_USED, bytes: 7, files: 1 })
  })

  it('uploads a blob and an empty file', async () => {
    const { api } = startClient()
    expect(await api.upload(new Blob(['abc']))).toMatchObject({
      filename: 'file',
      contentType: 'application/octet-stream',
      size: 3,
    })
    expect(await api.upload(new File([], 'empty'))).toMatchObject({ filename: 'empty', size: 0 })
  })

  it.each([
    ['a Proxy of a file', new Proxy(new File(['abc'], 'a.txt'), {}), '[object File]'],
    ['a text', 'abc', '[object String]'],
    ['nothing', undefined, '[object Undefined]'],
  ])('refuses %s, and sends nothing', async (_, file, got) => {
    const { api, sent } = startClient()
    await expect(api.upload(file as Blob)).rejects.toThrow(
      new TypeError(`file must be a Blob, not a proxy (got ${got}).`),
    )
    expect(sent).toEqual([])
  })

  it('sends the route and filename that the caller chooses', async () => {
    const { api } = startClient({ routes: { docs: {}, pictures: { bucket: 'pictures' } } })
    const file = new File(['x'], 'IMG_1.jpg')
    expect(await api.upload(file, { route: 'pictures', filename: 'Cat.jpg' })).toMatchObject({
      bucket: 'pictures',
      route: 'pictures',
      filename: 'Cat.jpg',
    })
    expect(await api.upload(file, { route: 'docs', filename: null, metadata: null })).toMatchObject({
      route: 'docs',
      filename: 'IMG_1.jpg',
    })
    expect(await rejectionOf(api.upload(file))).toMatchObject({ params: { field: 'route' } })
    expect(await rejectionOf(api.upload(file, { route: 'docs', filename: 'a\0b' }))).toMatchObject({
      params: { field: 'filename' },
    })
  })

  it.each([
    ['a\0b', 'a\ufffdb'],
    ['😀.png', '😀.png'],
    ['../../etc/passwd', '../../etc/passwd'],
    ['ä'.repeat(2000), 'ä'.repeat(1024)],
    ['😀'.repeat(1025), '😀'.repeat(1024)],
    ['', 'file'],
  ])('replaces invalid characters in the file’s own name: %j', async (name, expected) => {
    const { api } = startClient()
    expect((await api.upload(new File(['x'], name))).filename).toBe(expected)
  })

  it('replaces a lone surrogate in the file’s own name', async () => {
    const { api } = startClient()
    const file = Object.defineProperty(new File(['x'], ''), 'name', { value: 'a\ud83d.png' })
    expect((await api.upload(file)).filename).toBe('a\ufffd.png')
  })

  it.each([
    ['image/svg+xml', 'image/svg+xml'],
    ['text/plain; charset=utf-8', 'text/plain; charset=utf-8'],
    ['text/plain;charset="utf-8"', 'text/plain;charset="utf-8"'],
    ['text/plain;charset="a\\"b"', 'text/plain;charset="a\\"b"'],
    ['text', 'application/octet-stream'],
    ['text/', 'application/octet-stream'],
    ['text/plain;', 'text/plain;'],
    ['video/webm;codecs=vp8,opus', 'video/webm;codecs="vp8,opus"'],
    ['audio/ogg; codecs=opus;', 'audio/ogg; codecs=opus;'],
    ['text /plain', 'application/octet-stream'],
    ['a/b; c="', 'a/b'],
    [`text/${'x'.repeat(300)}`, 'application/octet-stream'],
    ['', 'application/octet-stream'],
  ])('sends only valid content types: %j', async (type, expected) => {
    const { api } = startClient()
    const file = Object.defineProperty(new File(['x'], 'a'), 'type', { value: type })
    expect((await api.upload(file)).contentType).toBe(expected)
  })

  it.each([
    ['a.HEIC', {}, 'image/heic'],
    ['notes.md', {}, 'text/markdown'],
    ['letter.docx', {}, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['heic', {}, 'application/octet-stream'],
    ['a.heic', { filename: 'a.mov' }, 'video/quicktime'],
    ['a.heic', { contentType: 'text/csv' }, 'text/csv'],
    ['a.heic', { contentType: 'audio/webm;codecs=a,b' }, 'audio/webm;codecs="a,b"'],
  ])('sends the type of %s with %j if the file has none: %s', async (name, options, expected) => {
    const { api } = startClient()
    expect((await api.upload(new File(['x'], name), options)).contentType).toBe(expected)
  })

  it.each([
    ['a Map', new Map([['album', 'summer']]), '[object Map]'],
    ['a promise', Promise.resolve({ album: 'summer' }), '[object Promise]'],
  ])('has the server refuse %s as metadata, which JSON would change', async (_what, metadata, kind) => {
    const { api } = startClient()
    const call = api.upload(new Blob(['x']), { metadata: metadata as unknown as Record<string, string> })
    expect(await rejectionOf(call)).toMatchObject({
      code: 'VALIDATION_ERROR',
      params: { field: 'metadata' },
      message: expect.stringContaining(kind) as string,
    })
  })

  it('doesn’t read the localStorage of a runtime without a page, which prints a warning', async () => {
    const { api } = startClient()
    const readers: string[] = []
    const original = Object.getOwnPropertyDescriptor(globalThis, 'localStorage')
    const get = () => void readers.push(new Error().stack!)
    vi.stubGlobal('document', undefined)
    Object.defineProperty(globalThis, 'localStorage', { configurable: true, get })
    try {
      await api.upload(new Blob(['x']))
      await api.unfinishedUploads()
    } finally {
      // Not every runtime has one.
      if (original) Object.defineProperty(globalThis, 'localStorage', original)
      else Reflect.deleteProperty(globalThis, 'localStorage')
      vi.unstubAllGlobals()
    }
    // Test tools of other files in this worker may read it.
    expect(readers.filter((stack) => stack.includes('/src/client/'))).toEqual([])
  })

  it.each([0, 5])('reports progress up to the total: %i bytes', async (size) => {
    const { api } = startClient()
    const progress: UploadProgress[] = []
    await api.upload(new Blob(['x'.repeat(size)]), { onProgress: (step) => progress.push(step) })
    expect(progress.at(-1)).toEqual({ loaded: size, total: size })
    const loaded = progress.map((step) => step.loaded)
    expect(loaded).toEqual([...new Set(loaded)].sort((a, b) => a - b))
  })

  it('rejects with the error of onProgress', async () => {
    const { api } = startClient()
    const mistake = new Error('The progress bar is gone.')
    const onProgress = () => {
      throw mistake
    }
    await expect(api.upload(new Blob(['abc']), { onProgress })).rejects.toBe(mistake)
  })

  it('reports no progress if the upload is refused', async () => {
    const { api } = startClient({ quota: { maxFiles: 0 } })
    const onProgress = vi.fn()
    expect(await rejectionOf(api.upload(new Blob(['abc']), { onProgress }))).toMatchObject({
      code: 'QUOTA_EXCEEDED',
    })
    expect(onProgress).not.toHaveBeenCalled()
  })

  it('replaces an object on a route with overwrite', async () => {
    const { api, fetch } = startClient({ routes: { avatar: { key: () => 'avatar', overwrite: true } } })
    const first = await api.upload(new Blob(['old']))
    const second = await api.upload(new Blob(['newer']))
    expect(second).toMatchObject({ id: first.id, size: 5 })
    expect(await bytesAt(fetch, (await api.download(second)).url)).toBe('newer')
  })

  it('aborts the attempt if the server does not confirm it', async () => {
    const before = async (request: Request, serve: () => Promise<Response>) =>
      request.method === 'PUT' ? new Response(null) : serve()
    const { api, objects } = startClient({ before })
    expect(await rejectionOf(api.upload(new Blob(['abc'])))).toMatchObject({ code: 'UPLOAD_MISMATCH' })
    expect(await objects.getScopeUsage('ada')).toEqual(NOTHING_USED)
  })

  it.each(['upload', 'preloadUpload'])(
    'rejects with CODE_UNAVAILABLE if %s cannot load the code',
    async (call) => {
      vi.resetModules()
      vi.doMock('../../../src/client/upload/upload.js', () => {
        throw new Error('The chunk is gone.')
      })
      const anew = await import('@svc/db/client')
      const { api } = anew.createS3Client({ plugins: [] })
      const loading = call === 'upload' ? api.upload(new Blob(['abc'])) : anew.preloadUpload()
      await expect(loading).rejects.toMatchObject({ code: 'CODE_UNAVAILABLE', status: undefined })
      vi.doUnmock('../../../src/client/upload/upload.js')
      vi.resetModules()
    },
  )
})
