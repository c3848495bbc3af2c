import { describe, expect, it } from 'vitest'
import { bucketService, codeOf, HELLO } from './bucket-service.js'
import { storages } from './storages.js'

describe.each(storages)('$name', (kind) => {
  it('stores, describes, and returns an upload', async () => {
    const { storage, upload, download, put, get, attemptId } = bucketService(kind)
    const stored = await put(upload, HELLO)
    expect(stored.status).toBe(200)
    expect(await storage.head(upload)).toEqual({
      size: 5,
      contentType: 'text/plain',
      eTag: stored.headers.get('etag'),
      attemptId,
    })
    expect(stored.headers.get('etag')).toMatch(/^"[0-9a-f]{64}"$/)

    const response = await get(download)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'private, no-store',
      'content-type': 'text/plain',
      'content-length': '5',
      'accept-ranges': 'bytes',
      etag: stored.headers.get('etag'),
      'last-modified': expect.stringMatching(/ GMT$/) as string,
      'content-disposition': `attachment; filename="b.txt"; filename*=UTF-8''b.txt`,
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
    expect(await response.text()).toBe('hello')
  })

  it('has no object before the upload and after the removal', async () => {
    const { storage, upload, download, put, get } = bucketService(kind)
    expect(await storage.head(upload)).toBeNull()
    expect(await codeOf(await get(download))).toEqual([404, 'OBJECT_NOT_FOUND', undefined])
    await put(upload, HELLO)
    await storage.remove(upload)
    await storage.remove(upload)
    expect(await storage.head(upload)).toBeNull()
    expect(await storage.head({ bucket: 'other', key: 'a/b' })).toBeNull()
  })

  it('stores a file of 0 bytes', async () => {
    const { storage, upload, put } = bucketService(kind)
    expect((await put({ ...upload, size: 0 }, null)).status).toBe(200)
    expect(await storage.head(upload)).toMatchObject({ size: 0 })
  })

  it('rejects if the signal is aborted', async () => {
    const { storage, upload, download } = bucketService(kind)
    const signal = AbortSignal.abort(new Error('gone'))
    const { multipart } = storage
    const at = { ...upload, uploadId: 'u', signal }
    const calls = [
      storage.signUpload(at),
      storage.signDownload({ ...download, signal }),
      storage.head(at),
      storage.remove(at),
      storage.write!({ ...at, body: HELLO }),
      storage.read!(at),
      multipart!.create(at),
      multipart!.signPart({ ...at, partNumber: 1 }),
      multipart!.writePart!({ ...at, partNumber: 1, body: HELLO }),
      multipart!.listParts({ ...at, after: 0 }),
      multipart!.complete({ ...at, parts: [] }),
      multipart!.abort(at),
      multipart!.list(at),
    ]
    for (const call of calls) await expect(call).rejects.toThrow('gone')
  })
})
