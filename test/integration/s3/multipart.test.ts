import { AbortMultipartUploadCommand } from '@aws-sdk/client-s3'
import { createAttemptId } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { describe, expect, it } from 'vitest'
import { HOUR, SECOND } from '../../conformance/clock.js'
import * as inParts from '../../unit/server/multipart/in-parts.js'
import { errorOf } from '../../unit/server/service.js'
import { downloadFrom, partOf, put } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'
import { serviceOn } from './service-on-s3.js'

const SMALLEST_PART = 5 * 1024 * 1024
const CONTENT_TYPE = 'a/b; x="a b  c";y="\\""'

describeS3('multipart uploads of s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const storage = s3Storage({ client })
  const multipart = storage.multipart!

  async function begun(key = createAttemptId()) {
    const attemptId = createAttemptId()
    const { uploadId } = await multipart.create({ bucket, key, contentType: CONTENT_TYPE, attemptId })
    return { upload: { bucket, key, uploadId }, attemptId }
  }

  /** Sends parts with these first bytes. All but the last have the minimum size of S3. */
  async function send(upload: { bucket: string; key: string; uploadId: string }, ...fills: number[]) {
    for (const [at, fill] of fills.entries()) {
      const body = new Uint8Array(at < fills.length - 1 ? SMALLEST_PART : 7).fill(fill)
      const part = { ...partOf(upload, at + 1), size: body.byteLength }
      expect(await put(await multipart.signPart(part), body)).toMatchObject({ status: 200 })
    }
  }

  async function partsOf(upload: { bucket: string; key: string; uploadId: string }) {
    const page = await multipart.listParts({ ...upload, after: 0 })
    return page?.parts ?? []
  }

  it('become one object with their type and attempt', async () => {
    const { upload, attemptId } = await begun()
    await send(upload, 1, 2)
    expect(await storage.head(upload)).toBeNull()
    const parts = await partsOf(upload)
    expect(parts).toEqual([
      { partNumber: 1, size: SMALLEST_PART, eTag: expect.stringMatching(/^"\w+"$/) as string },
      { partNumber: 2, size: 7, eTag: expect.stringMatching(/^"\w+"$/) as string },
    ])
    expect(await multipart.complete({ ...upload, parts })).toBe(true)
    expect(await storage.head(upload)).toEqual({
      size: SMALLEST_PART + 7,
      contentType: CONTENT_TYPE,
      eTag: expect.stringMatching(/^"\w+-2"$/) as string,
      attemptId,
    })
    const { url } = await storage.signDownload(downloadFrom(bucket, upload.key))
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer())
    expect([bytes[0], bytes[SMALLEST_PART - 1], bytes[SMALLEST_PART], bytes.at(-1)]).toEqual([1, 1, 2, 2])
  })

  it('are completed from exactly the named parts, or not at all', async () => {
    const { upload } = await begun()
    await send(upload, 1, 2)
    const [first] = await partsOf(upload)
    // AWS omits the other parts; Ceph refuses the completion.
    const completed = await multipart.complete({ ...upload, parts: [first!] })
    expect((await storage.head(upload))?.size ?? null).toBe(completed ? SMALLEST_PART : null)
  })

  describe('have URLs of parts that', () => {
    it('need no headers', async () => {
      const { upload } = await begun()
      const { url } = await multipart.signPart(partOf(upload))
      expect(new URL(url).searchParams.get('X-Amz-SignedHeaders')).toBe('content-length;host')
      expect(url).not.toMatch(/checksum/i)
      expect(await put({ url })).toMatchObject({ status: 200 })
    })

    it('are signed 100 at once, for one caller, without a warning of Node.js', async () => {
      const { upload } = await begun()
      const warnings: Error[] = []
      const note = (warning: Error) => void warnings.push(warning)
      process.on('warning', note)
      const { signal } = new AbortController()
      const numbers = Array.from({ length: 100 }, (_, at) => at + 1)
      const signed = numbers.map((number) => multipart.signPart({ ...partOf(upload, number), signal }))
      expect(new Set((await Promise.all(signed)).map(({ url }) => url)).size).toBe(100)
      // Node.js emits warnings in a later turn of the event loop.
      await new Promise(setImmediate)
      process.off('warning', note)
      expect(warnings).toEqual([])
    })

    it('are valid for one part, one upload, one key, and one method', async () => {
      const { upload } = await begun()
      const other = await begun(upload.key)
      const { url } = await multipart.signPart(partOf(upload))
      const changed = [
        url.replace('partNumber=1', 'partNumber=2'),
        url.replace(upload.uploadId, other.upload.uploadId),
        url.replace(upload.key, createAttemptId()),
        url.replace('partNumber=1&', '').replace(/uploadId=[^&]*&/, ''),
      ]
      for (const wrong of changed) {
        expect(wrong).not.toBe(url)
        expect([(await put({ url: wrong })).status, wrong]).toEqual([403, wrong])
      }
      for (const method of ['DELETE', 'POST', 'GET']) {
        expect((await fetch(url, { method })).status, method).toBe(403)
      }
      expect(await partsOf(upload)).toEqual([])
    })

    it('expire', async () => {
      const { upload } = await begun()
      for (const expiresAt of [new Date(Date.now() - HOUR), new Date(Date.now() - SECOND)]) {
        const signed = await multipart.signPart({ ...partOf(upload), expiresAt })
        expect(await put(signed)).toMatchObject({ status: 403 })
      }
    })

    it('are invalid once the upload has ended', async () => {
      const { upload } = await begun()
      const signed = await multipart.signPart(partOf(upload))
      await multipart.abort(upload)
      expect(await put(signed)).toMatchObject({ status: 404, code: 'NoSuchUpload' })
    })
  })

  it('list their parts in pages', async () => {
    const pages = clientOf(server)
    pages.middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          next(
            commandName === 'ListPartsCommand' ? { ...args, input: { ...args.input, MaxParts: 2 } } : args,
          ),
      { step: 'initialize', name: 'smallPages' },
    )
    const small = s3Storage({ client: pages }).multipart!
    const { upload } = await begun()
    for (const partNumber of [1, 2, 3, 7, 10_000]) await put(await small.signPart(partOf(upload, partNumber)))
    const found: number[][] = []
    let after: number | null = 0
    do {
      const page = await small.listParts({ ...upload, after })
      found.push(page!.parts.map(({ partNumber }) => partNumber))
      after = page!.next
    } while (after !== null)
    expect(found).toEqual([[1, 2], [3, 7], [10_000]])
    expect(await small.listParts({ ...upload, after: 3 })).toMatchObject({
      parts: [{ partNumber: 7 }, { partNumber: 10_000 }],
      next: null,
    })
  })

  it('are listed by their exact key, in pages', async () => {
    const pages = clientOf(server)
    pages.middlewareStack.add(
      (next, { commandName }) =>
        (args) =>
          next(
            commandName === 'ListMultipartUploadsCommand'
              ? { ...args, input: { ...args.input, MaxUploads: 1 } }
              : args,
          ),
      { step: 'initialize', name: 'smallPages' },
    )
    const small = s3Storage({ client: pages }).multipart!
    const key = `list me/${createAttemptId()}`
    // Ceph lists some of these before their common prefix.
    for (const other of ['!', ' ', '+', '/', '0', 'a', '\u{1f600}']) await begun(key + other)
    const ids = [(await begun(key)).upload.uploadId, (await begun(key)).upload.uploadId]
    expect([...(await small.list({ bucket, key }))].sort()).toEqual([...ids].sort())
    expect(await small.list({ bucket, key: `${key}!` })).toHaveLength(1)
    expect(await small.list({ bucket, key: key.slice(0, -1) })).toEqual([])
    await multipart.abort({ bucket, key, uploadId: ids[0]! })
    expect(await small.list({ bucket, key })).toEqual([ids[1]])
  })

  describe('that have ended', () => {
    const endings = {
      'by a completion': async ({ upload }: Awaited<ReturnType<typeof begun>>) => {
        await put(await multipart.signPart(partOf(upload)))
        expect(await multipart.complete({ ...upload, parts: await partsOf(upload) })).toBe(true)
      },
      'by an abort': ({ upload }: Awaited<ReturnType<typeof begun>>) => multipart.abort(upload),
    }

    it.each(Object.entries(endings))('no longer exist: %s', async (_, end) => {
      const started = await begun()
      await end(started)
      const { upload } = started
      expect(await multipart.listParts({ ...upload, after: 0 })).toBeNull()
      expect(await multipart.list(upload)).toEqual([])
      await multipart.abort(upload)
      const parts = [{ partNumber: 1, eTag: '"5d41402abc4b2a76b9719d911017c593"' }]
      expect(await multipart.complete({ ...upload, parts })).toBe(false)
    })

    it('or never existed are not found', async () => {
      const upload = { bucket, key: 'a', uploadId: 'no such upload/ü&?' }
      expect(await multipart.listParts({ ...upload, after: 0 })).toBeNull()
      expect(await multipart.complete({ ...upload, parts: [{ partNumber: 1, eTag: '"e"' }] })).toBe(false)
      await multipart.abort(upload)
    })
  })

  it('are not completed with changed or missing parts', async () => {
    const { upload } = await begun()
    await put(await multipart.signPart(partOf(upload)))
    const [part] = await partsOf(upload)
    const wrong = [
      [{ ...part!, eTag: '"00000000000000000000000000000000"' }],
      [part!, { partNumber: 2, eTag: part!.eTag }],
    ]
    for (const parts of wrong) {
      expect(await multipart.complete({ ...upload, parts })).toBe(false)
      expect(await storage.head(upload)).toBeNull()
    }
    expect(await multipart.complete({ ...upload, parts: [part!] })).toBe(true)
  })

  it('fail with parts that are too small, and stay open', async () => {
    const { upload } = await begun()
    for (const partNumber of [1, 2]) await put(await multipart.signPart(partOf(upload, partNumber)))
    const parts = await partsOf(upload)
    await expect(multipart.complete({ ...upload, parts })).rejects.toThrow('HTTP 400 EntityTooSmall')
    expect(await partsOf(upload)).toEqual(parts)
  })

  it('are completed once by concurrent calls', async () => {
    const { upload } = await begun()
    await put(await multipart.signPart(partOf(upload)))
    const parts = await partsOf(upload)
    const responses = await Promise.allSettled(
      Array.from({ length: 4 }, () => multipart.complete({ ...upload, parts })),
    )
    expect(responses.some((response) => response.status === 'fulfilled' && response.value)).toBe(true)
    expect(await storage.head(upload)).toMatchObject({ size: 5 })
    expect(await multipart.list(upload)).toEqual([])
  })

  it('that the bucket has dropped, as by a lifecycle rule, end at the server', async () => {
    const { as, objects } = serviceOn(client, bucket)
    const caller = as('user:1')
    const parts = await inParts.begun(caller, { route: 'files' })
    const { storageKey } = (await objects.findPending(parts.object))!
    const dropped = { Bucket: bucket, Key: storageKey!, UploadId: parts.uploadId }
    await client.send(new AbortMultipartUploadCommand(dropped))
    expect(await errorOf(await inParts.list(caller, parts))).toMatchObject({
      status: 404,
      code: 'OBJECT_NOT_FOUND',
      params: { ended: true },
    })
    expect(await objects.getScopeUsage('user:1')).toMatchObject({ reservedBytes: 0, reservedFiles: 0 })
  })
})
