import { createAttemptId } from '@svc/db'
import type { WriteInput } from '@svc/db/adapter'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../../conformance/clock.js'
import { bucketService, codeOf, HELLO } from './bucket-service.js'
import { gatedBody } from './gated-body.js'
import { storages } from './storages.js'

async function readAll(stream: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  return Buffer.from(await new Response(stream).arrayBuffer())
}

describe.each(storages)('$name, written and read by the server', (kind) => {
  function directService() {
    const service = bucketService(kind)
    const { upload, attemptId, clock } = service
    const { bucket, key } = upload
    const at = { bucket, key }
    const file: WriteInput = { ...at, body: HELLO, contentType: 'text/plain', attemptId }
    return { ...service, at, file, hour: clock.in(HOUR) }
  }

  it('stores an object on the terms of an upload URL', async () => {
    const { storage, at, file, attemptId, download, get } = directService()
    expect(await storage.write!(file)).toBe(true)
    expect(await storage.head(at)).toEqual({
      size: 5,
      contentType: 'text/plain',
      eTag: expect.stringMatching(/^"[0-9a-f]{64}"$/) as string,
      attemptId,
    })
    expect((await readAll(await storage.read!(at))).toString()).toBe('hello')
    expect(await (await get(download)).text()).toBe('hello')
  })

  it('never replaces an object', async () => {
    const { storage, at, file, upload, put } = directService()
    await storage.write!(file)
    const before = await storage.head(at)
    expect(await storage.write!({ ...file, body: new Uint8Array(3), attemptId: createAttemptId() })).toBe(
      false,
    )
    expect(await codeOf(await put(upload, HELLO))).toEqual([409, 'KEY_CONFLICT', undefined])
    expect(await storage.head(at)).toEqual(before)
  })

  it('of concurrent writes keeps one', async () => {
    const { storage, file, at } = directService()
    const sizes = [1, 2, 3, 4]
    const writes = sizes.map((size) => storage.write!({ ...file, body: new Uint8Array(size) }))
    const results = await Promise.allSettled(writes)
    const winners = sizes.filter((_, index) => {
      const result = results[index]!
      return result.status === 'fulfilled' && result.value
    })
    expect(winners).toHaveLength(1)
    expect(await storage.head(at)).toMatchObject({ size: winners[0] })
  })

  it('does not write while an upload to the same URL is in progress', async () => {
    const { storage, file, upload, put } = directService()
    const body = gatedBody()
    const uploading = put(upload, body.stream)
    await body.isWaitedFor()
    await expect(storage.write!(file)).rejects.toMatchObject({ code: 'KEY_CONFLICT' })
    await body.send(HELLO)
    body.close()
    expect((await uploading).status).toBe(200)
  })

  it('keeps its own copy of the bytes', async () => {
    const { storage, at, file } = directService()
    const body = new TextEncoder().encode('hello')
    await storage.write!({ ...file, body })
    body.fill(0)
    const chunk = await (await storage.read!(at))!.getReader().read()
    chunk.value?.fill(0)
    expect((await readAll(await storage.read!(at))).toString()).toBe('hello')
  })

  it('refuses bytes that are complete too late', async () => {
    const { storage, at, file, clock, hour } = directService()
    clock.advance(HOUR)
    await storage.write!({ ...file, key: 'in time', writableUntil: hour })
    clock.advance(HOUR)
    await expect(storage.write!({ ...file, writableUntil: hour })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await storage.head(at)).toBeNull()
    const upload = await storage.multipart!.create(file)
    const part = { ...at, ...upload, partNumber: 1, body: HELLO }
    await expect(storage.multipart!.writePart!({ ...part, writableUntil: hour })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect(await storage.multipart!.writePart!(part)).not.toBeNull()
  })

  it('stores an object in parts, of which the last version counts', async () => {
    const { storage, at, file, attemptId } = directService()
    const multipart = storage.multipart!
    const upload = { ...at, ...(await multipart.create(file)) }
    const write = (partNumber: number, text: string) =>
      multipart.writePart!({ ...upload, partNumber, body: new TextEncoder().encode(text) })
    const [world, wrong, hello] = [await write(2, 'world'), await write(1, 'wrong'), await write(1, 'hello ')]
    const { parts } = (await multipart.listParts({ ...upload, after: 0 }))!
    expect(parts).toEqual([
      { partNumber: 1, size: 6, eTag: hello },
      { partNumber: 2, size: 5, eTag: world },
    ])
    expect(await multipart.complete({ ...upload, parts: [{ partNumber: 1, eTag: wrong! }] })).toBe(false)
    expect(await multipart.complete({ ...upload, parts })).toBe(true)
    expect(await storage.head(at)).toMatchObject({ size: 11, attemptId })
    expect((await readAll(await storage.read!(at))).toString()).toBe('hello world')
    expect(await multipart.writePart!({ ...upload, partNumber: 1, body: HELLO })).toBeNull()
  })

  it('writes no part of an upload that is unknown or has ended', async () => {
    const { storage, at, file } = directService()
    const multipart = storage.multipart!
    const upload = { ...at, ...(await multipart.create(file)) }
    await multipart.abort(upload)
    for (const uploadId of [upload.uploadId, 'unknown', '../x']) {
      const part = { ...at, uploadId, partNumber: 1, body: HELLO }
      expect(await multipart.writePart!(part)).toBeNull()
    }
    expect(await multipart.list(at)).toEqual([])
  })

  it.each([
    [0, 0],
    [0, 199_999],
    [1, 65_536],
    [65_535, 131_072],
    [199_999, 199_999],
  ])('reads the bytes from %d to %d', async (start, end) => {
    const { storage, at, file } = directService()
    const body = new Uint8Array(200_000).map((_, index) => index * 7)
    await storage.write!({ ...file, body })
    const read = await readAll(await storage.read!({ ...at, range: { start, end } }))
    expect(Buffer.compare(read, body.subarray(start, end + 1))).toBe(0)
  })

  it('reads an empty object, and returns null if there is none', async () => {
    const { storage, at, file } = directService()
    expect(await storage.read!(at)).toBeNull()
    await storage.write!({ ...file, body: new Uint8Array() })
    expect(await readAll(await storage.read!(at))).toHaveLength(0)
  })

  it('shows its baseURL', () => {
    expect(kind.open({ baseURL: 'https://app.example/files/' }).baseURL).toBe('https://app.example/files')
    expect(kind.open({}).baseURL).toBeNull()
  })
})
