import { createAttemptId } from '@svc/db'
import { s3Storage } from '@svc/db/s3'
import { S3Client } from '@aws-sdk/client-s3'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../conformance/clock.js'
import { HELLO, inHours, put, uploadTo } from './browser-requests.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

const DAY = 24 * HOUR
const REFUSED = { status: 403, code: 'SignatureDoesNotMatch' }

describeS3('the upload URLs of s3Storage', (server) => {
  const client = clientOf(server)
  const bucket = freshBucket(client)
  const storage = s3Storage({ client })
  afterEach(() => void vi.useRealTimers())

  it('write the requested upload, with headers that browsers allow', async () => {
    const upload = uploadTo(bucket)
    const signed = await storage.signUpload(upload)
    expect(signed.method).toBe('PUT')
    expect(signed.headers).toEqual({
      'content-type': 'text/plain',
      'if-none-match': '*',
      'x-amz-meta-attempt-id': upload.attemptId,
    })
    const response = await put(signed)
    expect(response.status).toBe(200)
    expect(await storage.head(upload)).toEqual({
      size: 5,
      contentType: 'text/plain',
      eTag: response.headers.get('etag'),
      attemptId: upload.attemptId,
    })
  })

  it.each([
    'text/plain; charset=utf-8',
    'text/plain;charset="utf-8";  format=flowed',
    'Image/SVG+xml',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    `application/${'x'.repeat(240)}`,
    'a/b; x="a b  c"',
    'a/b;x="\\""',
  ])('preserve the type: %s', async (contentType) => {
    const upload = { ...uploadTo(bucket), contentType }
    expect(await put(await storage.signUpload(upload))).toMatchObject({ status: 200 })
    expect(await storage.head(upload)).toMatchObject({ contentType })
  })

  it('refuse a body without Content-Length', async () => {
    const upload = uploadTo(bucket)
    const { url, headers } = await storage.signUpload(upload)
    const body = new Blob([HELLO]).stream()
    const response = await fetch(url, { method: 'PUT', headers, body, duplex: 'half' } as RequestInit)
    expect(response.status).toBeGreaterThanOrEqual(400)
    expect(await storage.head(upload)).toBeNull()
  })

  it.each([
    ['content-type', 'text/html'],
    ['content-type', 'text/plain; charset=utf-8'],
    ['x-amz-meta-attempt-id', createAttemptId()],
    ['if-none-match', '"x"'],
  ])('refuse another %s: %s', async (name, value) => {
    const upload = uploadTo(bucket)
    const { url, headers } = await storage.signUpload(upload)
    expect(await put({ url, headers: { ...headers, [name]: value } })).toMatchObject(REFUSED)
    expect(await storage.head(upload)).toBeNull()
  })

  it('refuse a missing header', async () => {
    const upload = uploadTo(bucket)
    const { url, headers } = await storage.signUpload(upload)
    for (const name of Object.keys(headers)) {
      const rest = Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name))
      expect(await put({ url, headers: rest }), name).toMatchObject(REFUSED)
    }
    expect(await storage.head(upload)).toBeNull()
  })

  it('are invalid after any change', async () => {
    const upload = uploadTo(bucket, 'a/b')
    const { url, headers } = await storage.signUpload(upload)
    const changed = [
      url.replace('/a/b?', '/a/c?'),
      url.replace(/X-Amz-Expires=\d+/, 'X-Amz-Expires=3600'),
      url.replace(/X-Amz-Date=\d+T/, 'X-Amz-Date=20301231T'),
      url.replace('content-length%3B', ''),
      url.replace(/X-Amz-Signature=./, 'X-Amz-Signature=z'),
      url.replace('x-id=PutObject', 'x-id=GetObject'),
      `${url}&acl`,
      `${url}&uploadId=x&partNumber=1`,
    ]
    for (const other of changed) {
      expect(other).not.toBe(url)
      const { status } = await put({ url: other, headers })
      expect([status, other]).toEqual([403, other])
    }
    expect(await storage.head(upload)).toBeNull()
    for (const method of ['GET', 'HEAD', 'DELETE', 'POST']) {
      expect((await fetch(url, { method, headers })).status, method).toBe(403)
    }
  })

  it('write only once', async () => {
    const upload = uploadTo(bucket)
    const signed = await storage.signUpload(upload)
    expect(await put(signed)).toMatchObject({ status: 200 })
    const before = await storage.head(upload)
    expect(await put(signed, 'HELLO')).toMatchObject({ status: 412, code: 'PreconditionFailed' })
    expect(await put(await storage.signUpload(upload), 'HELLO')).toMatchObject({ status: 412 })
    expect(await storage.head(upload)).toEqual(before)
  })

  it('write only once if they are used concurrently', async () => {
    const upload = uploadTo(bucket)
    const signed = await storage.signUpload(upload)
    const responses = await Promise.all(Array.from({ length: 6 }, () => put(signed)))
    const written = responses.filter(({ status }) => status === 200)
    const refused = responses.filter(({ status }) => [409, 412].includes(status))
    expect([written.length, written.length + refused.length]).toEqual([1, 6])
  })

  it('expire', async () => {
    const at = (milliseconds: number) => new Date(Date.now() + milliseconds)
    for (const expiresAt of [at(-HOUR), at(-SECOND), at(0)]) {
      const upload = { ...uploadTo(bucket), expiresAt }
      expect(await put(await storage.signUpload(upload))).toMatchObject({ status: 403 })
      expect(await storage.head(upload)).toBeNull()
    }
  })

  it('expire no later than requested', async () => {
    // A client that has had no response yet signs by the clock of this machine.
    const signer = s3Storage({ client: clientOf(server) })
    vi.useFakeTimers({ toFake: ['Date'] })
    for (const life of [1, 999, 1000, 1001, 59_999, 900_000, 900_001, 7 * DAY]) {
      const expiresAt = new Date(Date.now() + life)
      const { url } = await signer.signUpload({ ...uploadTo(bucket), expiresAt })
      expect(endOf(url)).toBeLessThanOrEqual(expiresAt.getTime())
      expect(endOf(url)).toBeGreaterThan(expiresAt.getTime() - SECOND)
    }
  })

  it('are valid for at most 7 days', async () => {
    const expiresAt = new Date(Date.now() + 7 * DAY + MINUTE)
    await expect(storage.signUpload({ ...uploadTo(bucket), expiresAt })).rejects.toThrow(
      /the lifetime of a signed URL must be at most 604800 s \(got 6048\d\d s\)/,
    )
  })

  it('have a lifetime by the clock of the storage, and a date by that of the system', async () => {
    const start = new Date('2031-05-06T07:08:09Z')
    // A client that has had no response yet signs by the clock of this machine.
    const elsewhen = s3Storage({ client: clientOf(server), now: () => start })
    const upload = { ...uploadTo(bucket), expiresAt: new Date(start.getTime() + 2 * HOUR) }
    const before = Date.now()
    const signed = await elsewhen.signUpload(upload)
    expect(endOf(signed.url)).toBeGreaterThan(before + 2 * HOUR - SECOND)
    expect(endOf(signed.url)).toBeLessThanOrEqual(Date.now() + 2 * HOUR)
    expect(await put(signed)).toMatchObject({ status: 200 })
  })

  it.each(['.', '..', 'a/../b', 'a/./b', 'a/..', '/..'])(
    'are refused for a key that browsers change: %j',
    async (key) => {
      await expect(storage.signUpload(uploadTo(bucket, key))).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      })
    },
  )

  describe('of a client', () => {
    it.each(['WHEN_SUPPORTED', 'WHEN_REQUIRED'] as const)(
      'work with and without checksums: %s',
      async (setting) => {
        const other = clientOf(server, {
          requestChecksumCalculation: setting,
          responseChecksumValidation: setting,
        })
        const upload = uploadTo(bucket)
        const signed = await s3Storage({ client: other }).signUpload(upload)
        expect(signed.url).not.toMatch(/checksum/i)
        expect(await put(signed)).toMatchObject({ status: 200 })
      },
    )

    it('that signs headers which browsers do not send are refused', async () => {
      const other = clientOf(server)
      other.middlewareStack.add(
        (next) => (args) => {
          const { headers } = args.request as { headers: Record<string, string> }
          headers['x-of-the-application'] = 'a'
          return next(args)
        },
        { step: 'build', name: 'application' },
      )
      await expect(s3Storage({ client: other }).signUpload(uploadTo(bucket))).rejects.toThrow(
        'the client signs headers that browsers do not send: x-of-the-application',
      )
    })

    it('of an AWS SDK that does not know If-None-Match are refused', async () => {
      const other = clientOf(server)
      // Leaves the header out, as @aws-sdk/client-s3 before 3.635 does.
      other.middlewareStack.add(
        (next) => (args) => {
          const { headers } = args.request as { headers: Record<string, string> }
          delete headers['if-none-match']
          return next(args)
        },
        { step: 'build', name: 'older' },
      )
      await expect(s3Storage({ client: other }).signUpload(uploadTo(bucket))).rejects.toThrow(
        'the client does not sign if-none-match, which needs @aws-sdk/client-s3 3.635 or later',
      )
    })

    it('without credentials are refused', async () => {
      const other = new S3Client({
        endpoint: server.endpoint,
        region: 'us-east-1',
        credentials: () => Promise.reject(new Error('no credentials')),
      })
      await expect(s3Storage({ client: other }).signUpload(uploadTo(bucket))).rejects.toThrow(
        `s3Storage: signUpload failed in bucket "${bucket}": Error: no credentials`,
      )
    })

    it('with temporary credentials contain the session token', async () => {
      const other = clientOf(server, { credentials: { ...server.owner, sessionToken: 'token' } })
      const { url } = await s3Storage({ client: other }).signUpload(uploadTo(bucket))
      expect(new URL(url).searchParams.get('X-Amz-Security-Token')).toBe('token')
    })
  })

  it('contain no secret', async () => {
    const { url, headers } = await storage.signUpload({ ...uploadTo(bucket), expiresAt: inHours() })
    expect(url + JSON.stringify(headers)).not.toContain(server.owner.secretAccessKey)
  })
})

/** Returns when a URL expires, in milliseconds since 1970. */
function endOf(url: string): number {
  const { searchParams } = new URL(url)
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
    .exec(searchParams.get('X-Amz-Date')!)!
    .map(Number)
  const signed = Date.UTC(year!, month! - 1, day, hour, minute, second)
  return signed + Number(searchParams.get('X-Amz-Expires')) * SECOND
}
