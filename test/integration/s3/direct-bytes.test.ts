import { gzipSync } from 'node:zlib'
import { PutObjectCommand } from '@aws-sdk/client-s3'
import { createAttemptId } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { describe, expect, it } from 'vitest'
import { HELLO } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

const MIB = 1024 ** 2
const SMALLEST_PART = 5 * MIB

async function readAll(stream: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  return Buffer.from(await new Response(stream).arrayBuffer())
}

describeS3('bytes that the server moves with s3Storage', (server) => {
  // One client with the documented settings, one with those of the SDK, which adds checksums.
  const documented = clientOf(server, {
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  })
  const bucket = freshBucket(documented)
  const clients = [
    ['the documented settings', documented],
    ['the default settings', clientOf(server)],
  ] as const

  describe.each(clients)('with %s', (_, client) => {
    const storage = s3Storage({ client })
    const fileAt = (key: string, body: Uint8Array = HELLO) => {
      const attemptId = createAttemptId()
      return { bucket, key, body, contentType: 'text/plain', attemptId }
    }

    it('stores an object on the terms of an upload URL', async () => {
      const file = fileAt(createAttemptId())
      expect(await storage.write!(file)).toBe(true)
      expect(await storage.head(file)).toMatchObject({
        size: 5,
        contentType: 'text/plain',
        attemptId: file.attemptId,
      })
      expect((await readAll(await storage.read!(file))).toString()).toBe('hello')
      expect(await storage.write!({ ...file, body: new Uint8Array(1) })).toBe(false)
      expect((await readAll(await storage.read!(file))).toString()).toBe('hello')
    })

    it('reads the stored bytes of an object with a Content-Encoding', async () => {
      const at = { bucket, key: createAttemptId() }
      const body = gzipSync('hello')
      await client.send(
        new PutObjectCommand({ Bucket: bucket, Key: at.key, Body: body, ContentEncoding: 'gzip' }),
      )
      expect(await storage.head(at)).toMatchObject({ size: body.byteLength, contentEncoding: 'gzip' })
      expect(await readAll(await storage.read!(at))).toEqual(body)
    })

    it('stores keys with any characters, even those that browsers change in a URL', async () => {
      for (const key of ['../a/./b', 'a b+c%2F&é😀', 'quotes\'"`']) {
        const file = fileAt(`${createAttemptId()}/${key}`)
        expect(await storage.write!(file)).toBe(true)
        expect((await readAll(await storage.read!(file))).toString()).toBe('hello')
      }
    })

    it('stores an object in parts, and reads ranges of it', async () => {
      const multipart = storage.multipart!
      const bytes = new Uint8Array(SMALLEST_PART + 3).map((_, index) => index * 7 + (index >> 12))
      const file = fileAt(createAttemptId())
      const upload = { bucket, key: file.key, ...(await multipart.create(file)) }
      const [first, last] = [bytes.subarray(0, SMALLEST_PART), bytes.subarray(SMALLEST_PART)]
      const eTags = [
        await multipart.writePart!({ ...upload, partNumber: 1, body: first }),
        await multipart.writePart!({ ...upload, partNumber: 2, body: last }),
      ]
      const { parts } = (await multipart.listParts({ ...upload, after: 0 }))!
      expect(parts).toEqual([
        { partNumber: 1, size: SMALLEST_PART, eTag: eTags[0] },
        { partNumber: 2, size: 3, eTag: eTags[1] },
      ])
      expect(await multipart.complete({ ...upload, parts })).toBe(true)
      expect(await storage.head(file)).toMatchObject({ attemptId: file.attemptId, contentType: 'text/plain' })

      for (const [start, end] of [
        [0, 0],
        [SMALLEST_PART - 1, SMALLEST_PART],
        [3, SMALLEST_PART + 2],
      ] as const) {
        const read = await readAll(await storage.read!({ ...file, range: { start, end } }))
        expect(Buffer.compare(read, bytes.subarray(start, end + 1))).toBe(0)
      }
    })
  })

  const storage = s3Storage({ client: documented })

  it.each([
    ['none with the documented settings', { requestChecksumCalculation: 'WHEN_REQUIRED' }, []],
    ['those of the SDK, but an MD5 in parts', {}, ['x-amz-checksum-crc32', 'content-md5']],
  ] as const)('sends checksums as the client does: %s', async (_, settings, expected) => {
    const client = clientOf(server, settings)
    const sent: string[] = []
    client.middlewareStack.add(
      (next) => (args) => {
        sent.push(...Object.keys((args.request as { readonly headers: object }).headers))
        return next(args)
      },
      { step: 'finalizeRequest' },
    )
    const direct = s3Storage({ client })
    const multipart = direct.multipart!
    const at = { bucket, key: createAttemptId(), contentType: 'a/b', attemptId: createAttemptId() }
    await direct.write!({ ...at, body: HELLO })
    const upload = await multipart.create(at)
    expect(await multipart.writePart!({ ...at, ...upload, partNumber: 1, body: HELLO })).not.toBeNull()
    expect(
      sent.filter((name) => /^(?:x-amz-checksum-|content-md5)/i.test(name)).map((name) => name.toLowerCase()),
    ).toEqual(expected)
    expect(sent).toContain('if-none-match')
  })

  it('reads nothing at a key without an object, and rejects for a bucket that does not exist', async () => {
    const missing = { bucket, key: createAttemptId() }
    expect(await storage.read!(missing)).toBeNull()
    await expect(storage.read!({ ...missing, bucket: 'no-such-bucket' })).rejects.toThrow('NoSuchBucket')
    const file = { ...missing, body: HELLO, contentType: 'a/b', attemptId: createAttemptId() }
    await expect(storage.write!({ ...file, bucket: 'no-such-bucket' })).rejects.toThrow('NoSuchBucket')
  })

  it('writes no part of an upload that is unknown or has ended', async () => {
    const at = { bucket, key: createAttemptId() }
    const multipart = storage.multipart!
    const upload = { ...at, ...(await multipart.create({ ...at, contentType: 'a/b', attemptId: 'a' })) }
    await multipart.abort(upload)
    expect(await multipart.writePart!({ ...upload, partNumber: 1, body: HELLO })).toBeNull()
  })

  it('ends a write, and closes what it reads, when told to', async () => {
    const body = new Uint8Array(16 * MIB)
    const file = { bucket, key: createAttemptId(), body, contentType: 'a/b', attemptId: createAttemptId() }
    const abort = new AbortController()
    const writing = storage.write!({ ...file, signal: abort.signal })
    abort.abort(new Error('stop'))
    await expect(writing).rejects.toThrow('stop')

    await storage.write!({ ...file, key: `${file.key}-2` })
    const reader = (await storage.read!({ bucket, key: `${file.key}-2` }))!.getReader()
    expect((await reader.read()).value!.byteLength).toBeLessThan(MIB)
    await reader.cancel()
  })
})
