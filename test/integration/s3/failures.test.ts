import { createAttemptId } from '@svc/db'
import { s3Storage, type S3StorageOptions } from '@svc/db/s3'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../../servers/private-server.js'
import { partOf, put, uploadTo } from './browser-requests.js'
import { faultProxyTo, type Fault } from './fault-proxy.js'
import { clientOf, describeS3, freshBucket } from './s3-server.js'

const SLOW_DOWN: Fault = {
  status: 503,
  body: '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>',
}
const BROKEN: Fault = { status: 500, body: '<Error><Code>InternalError</Code></Error>' }

describeS3('s3Storage', (server) => {
  const direct = clientOf(server)
  const bucket = freshBucket(direct)
  const straight = s3Storage({ client: direct })
  const proxy = faultProxyTo(server.endpoint)
  let client: S3Client
  // A client of each test's own: one whose calls have failed too often for a while makes no second attempts.
  beforeEach(() => {
    client = throughProxy()
    return () => client.destroy()
  })
  function throughProxy(options: S3ClientConfig = {}): S3Client {
    const { owner: credentials } = server
    const { endpoint } = proxy
    return new S3Client({ endpoint, credentials, region: 'us-east-1', forcePathStyle: true, ...options })
  }
  const storage = (options: Partial<S3StorageOptions> = {}) =>
    s3Storage({ client, timeoutSeconds: 20, ...options })

  /** Something that every call can be about: an object, and an upload in parts with one part. */
  async function prepared() {
    const upload = uploadTo(bucket)
    await put(await straight.signUpload(upload))
    const multipart = straight.multipart!
    const key = createAttemptId()
    const { uploadId } = await multipart.create({ bucket, key, contentType: 'a/b', attemptId: 'a' })
    const inParts = { bucket, key, uploadId }
    await put(await multipart.signPart(partOf(inParts)))
    const { parts } = (await multipart.listParts({ ...inParts, after: 0 }))!
    return { upload, inParts, parts }
  }

  type Prepared = Awaited<ReturnType<typeof prepared>>
  type Call = (
    subject: Prepared,
    options?: Partial<S3StorageOptions>,
    signal?: AbortSignal,
  ) => Promise<unknown>
  const calls: Record<string, Call> = {
    head: ({ upload: { bucket, key } }, options, signal) =>
      storage(options).head({ bucket, key, ...(signal && { signal }) }),
    remove: ({ upload: { bucket, key } }, options, signal) =>
      storage(options).remove({ bucket, key, ...(signal && { signal }) }),
    'multipart.create': (_, options, signal) =>
      storage(options).multipart!.create({
        ...{ bucket, key: createAttemptId(), contentType: 'a/b', attemptId: 'a' },
        ...(signal && { signal }),
      }),
    'multipart.listParts': ({ inParts }, options, signal) =>
      storage(options).multipart!.listParts({ ...inParts, after: 0, ...(signal && { signal }) }),
    'multipart.complete': ({ inParts, parts }, options, signal) =>
      storage(options).multipart!.complete({ ...inParts, parts, ...(signal && { signal }) }),
    'multipart.abort': ({ inParts }, options, signal) =>
      storage(options).multipart!.abort({ ...inParts, ...(signal && { signal }) }),
    'multipart.list': ({ inParts: { bucket, key } }, options, signal) =>
      storage(options).multipart!.list({ bucket, key, ...(signal && { signal }) }),
  }

  describe.each(Object.entries(calls))('whose %s fails', (name, call) => {
    // One for all: what fails changes nothing.
    let subject: Prepared
    beforeAll(async () => {
      subject = await prepared()
    })

    it.each<[string, Fault, RegExp]>([
      ['an error of the service', BROKEN, /HTTP 500/],
      ['too many requests', SLOW_DOWN, /HTTP 503/],
      ['what is no S3 service', { status: 418, body: 'teapot' }, /HTTP 418/],
      ['a refusal', { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' }, /HTTP 403/],
      ['a connection that ends', 'cut before', /ECONNRESET|socket hang up/],
    ])('rejects, and says why: %s', async (_, fault, reason) => {
      const impatient = throughProxy({ maxAttempts: 1 })
      proxy.faults(fault)
      const error = await failureOf(call(subject, { client: impatient }))
      expect(error.message.startsWith(`s3Storage: ${name} in the bucket "${bucket}" failed: `)).toBe(true)
      expect(error.message).toMatch(reason)
      expect(error.cause).toBeInstanceOf(Error)
      impatient.destroy()
    })

    it('rejects after some attempts', async () => {
      proxy.faults(BROKEN)
      expect((await failureOf(call(subject))).message).toContain('HTTP 500')
      expect(proxy.requests.length).toBeGreaterThan(1)
    })

    it('goes on after a failure that passes', async () => {
      const changed = await prepared()
      for (const fault of [BROKEN, SLOW_DOWN, 'cut before'] as const) {
        proxy.faults(fault, 'none')
        await call(changed)
        expect(proxy.requests.length).toBeGreaterThan(1)
      }
    })

    it('ends in time where nothing answers', async () => {
      proxy.faults('hang')
      const limits = { timeoutSeconds: 0.2, completeTimeoutSeconds: 0.2 }
      await expect(call(subject, limits)).rejects.toThrow(
        `s3Storage: ${name} in the bucket "${bucket}" failed: TimeLimitError: there was no answer within 0.2 s`,
      )
    })

    it('ends in time where every try is slow, however many there may be', async () => {
      proxy.faults({ status: 503, headers: { 'retry-after': '60' } })
      const limits = { timeoutSeconds: 0.3, completeTimeoutSeconds: 0.3 }
      await expect(call(subject, limits)).rejects.toThrow(/TimeLimitError|HTTP 503/)
    })

    it('ends with the caller', async () => {
      proxy.faults('hang')
      const controller = new AbortController()
      const arrived = proxy.nextRequest()
      const pending = call(subject, {}, controller.signal)
      await arrived
      controller.abort(new Error('the client has gone'))
      await expect(pending).rejects.toThrow(/^the client has gone$/)
      expect(proxy.requests).toHaveLength(1)
    })
  })

  it('rejects where nothing listens', async () => {
    const nowhere = clientOf(server, { endpoint: `http://127.0.0.1:${await freePort()}` })
    await expect(s3Storage({ client: nowhere }).head({ bucket, key: 'a' })).rejects.toThrow('ECONNREFUSED')
  })

  it('waits for what is slow', async () => {
    const { upload } = await prepared()
    proxy.faults({ delayMilliseconds: 300 })
    expect(await storage().head(upload)).toMatchObject({ size: 5 })
  })

  describe('with a client that waits only so long for each try', () => {
    const impatient = () =>
      throughProxy({ requestHandler: { requestTimeout: 300, throwOnRequestTimeout: true } })

    it('tries once more where nothing answers', async () => {
      const { upload } = await prepared()
      proxy.faults('hang', 'none')
      expect(await storage({ client: impatient() }).head(upload)).toMatchObject({ size: 5 })
      expect(proxy.requests).toHaveLength(2)
    })

    it('waits longer for an object that is made of its parts', async () => {
      const { inParts, parts } = await prepared()
      proxy.faults({ delayMilliseconds: 900 }, 'none')
      const { multipart } = storage({ client: impatient() })
      expect(await multipart!.complete({ ...inParts, parts })).toBe(true)
      expect(proxy.requests).toHaveLength(1)
    })
  })

  it('rejects where the bucket can be seen and the object cannot', async () => {
    proxy.faults({ status: 403 }, 'none')
    await expect(storage().head({ bucket, key: 'a' })).rejects.toThrow('HTTP 403')
    expect(proxy.requests).toHaveLength(1)
  })

  it('rejects where the object is not there and the bucket cannot be seen', async () => {
    for (const fault of [{ status: 403 }, { status: 404 }, { status: 301 }] as const) {
      proxy.faults('none', fault)
      await expect(storage().head({ bucket, key: 'nothing' })).rejects.toThrow(`HTTP ${fault.status}`)
    }
  })

  it('spends its time once for all that a call asks', async () => {
    proxy.faults({ delayMilliseconds: 100 }, 'hang')
    await expect(storage({ timeoutSeconds: 0.5 }).head({ bucket, key: 'nothing' })).rejects.toThrow(
      'no answer within 0.5 s',
    )
    expect(proxy.requests).toHaveLength(2)
  })

  it('ends in time where the credentials never come', async () => {
    const { endpoint } = server
    const waiting = clientOf(server, { endpoint, credentials: () => new Promise(() => {}) })
    const other = s3Storage({ client: waiting, timeoutSeconds: 0.1 })
    await expect(other.signUpload(uploadTo(bucket))).rejects.toThrow('no answer within 0.1 s')
    await expect(other.head({ bucket, key: 'a' })).rejects.toThrow('no answer within 0.1 s')
  })

  describe.each(['cut after', 'cut within'] as const)('of which an answer is lost (%s)', (fault) => {
    it('has removed what it was reported to', async () => {
      const { upload } = await prepared()
      proxy.faults(fault)
      await storage()
        .remove(upload)
        .catch(() => undefined)
      expect(await straight.head(upload)).toBeNull()
      proxy.faults(fault, 'none')
      await storage().remove(upload)
    })

    it('tells by head whether an object was made of the parts', async () => {
      const { inParts, parts } = await prepared()
      proxy.faults(fault)
      await storage()
        .multipart!.complete({ ...inParts, parts })
        .catch(() => undefined)
      expect(await straight.head(inParts)).toMatchObject({ size: 5, attemptId: 'a' })
    })

    it('lists every upload that was begun and never heard of', async () => {
      const key = createAttemptId()
      proxy.faults(fault)
      const input = { bucket, key, contentType: 'a/b', attemptId: 'a' }
      await expect(storage().multipart!.create(input)).rejects.toThrow()
      const begun = await straight.multipart!.list({ bucket, key })
      expect(begun).toHaveLength(proxy.requests.length)
      for (const uploadId of begun) await straight.multipart!.abort({ bucket, key, uploadId })
      expect(await straight.multipart!.list({ bucket, key })).toEqual([])
    })

    it('begins no upload beside one that it never heard of', async () => {
      const at = { bucket, key: createAttemptId() }
      proxy.faults(fault, 'none')
      await expect(
        storage().multipart!.create({ ...at, contentType: 'a/b', attemptId: 'a' }),
      ).rejects.toThrow('a try whose answer was lost has begun an upload as well')
      expect(await straight.multipart!.list(at)).toHaveLength(2)
    })

    it('has aborted what it was reported to', async () => {
      const { inParts } = await prepared()
      proxy.faults(fault, 'none')
      await storage().multipart!.abort(inParts)
      expect(await straight.multipart!.list(inParts)).toEqual([])
    })
  })

  it('says that an object was not made where the service fails because the upload has ended', async () => {
    const { inParts, parts } = await prepared()
    await straight.multipart!.abort(inParts)
    proxy.faults(BROKEN, BROKEN, BROKEN, 'none')
    expect(await storage().multipart!.complete({ ...inParts, parts })).toBe(false)
  })

  it('rejects where the service fails and the upload is there', async () => {
    const { inParts, parts } = await prepared()
    proxy.faults(BROKEN, BROKEN, BROKEN, 'none')
    await expect(storage().multipart!.complete({ ...inParts, parts })).rejects.toThrow('HTTP 500')
    expect(await straight.head(inParts)).toBeNull()
  })

  it('never leaves a promise that nobody handles', async () => {
    const unhandled: unknown[] = []
    const listen = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', listen)
    try {
      proxy.faults('hang')
      await expect(storage({ timeoutSeconds: 0.05 }).head({ bucket, key: 'a' })).rejects.toThrow()
      await new Promise((resolve) => setImmediate(resolve))
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', listen)
    }
  })
})

async function failureOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(outcome instanceof Error)) throw new Error('The call must fail.')
  return outcome
}
