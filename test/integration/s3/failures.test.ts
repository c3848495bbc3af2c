import { createAttemptId } from '@svc/db'
import { s3Storage, type S3StorageOptions } from '@svc/db/s3'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { MINUTE } from '../../conformance/clock.js'
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
  const directStorage = s3Storage({ client: direct })
  const proxy = faultProxyTo(server.endpoint)
  let client: S3Client
  // A new client for each test, because the SDK stops retrying after many failures.
  beforeEach(() => {
    client = throughProxy()
    return () => client.destroy()
  })
  function throughProxy(options: S3ClientConfig = {}): S3Client {
    const { owner: credentials } = server
    const { endpoint } = proxy
    const config = { endpoint, credentials, region: 'us-east-1', forcePathStyle: true, ...options }
    return withoutBackoff(new S3Client(config))
  }
  const storage = (options: Partial<S3StorageOptions> = {}) => s3Storage({ client, ...options })

  /** Creates a subject for every call: an object, and a multipart upload with one part. */
  async function prepared() {
    const upload = uploadTo(bucket)
    await put(await directStorage.signUpload(upload))
    const multipart = directStorage.multipart!
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

  describe.each(Object.entries(calls))('if %s fails', (name, call) => {
    // Shared, because a failed call changes nothing.
    let subject: Prepared
    beforeAll(async () => {
      subject = await prepared()
    })

    it('rejects with the reason after several attempts', async () => {
      proxy.faults(BROKEN)
      const error = await failureOf(call(subject))
      expect(error.message.startsWith(`s3Storage: ${name} failed in bucket "${bucket}": `)).toBe(true)
      expect(error.message).toContain('HTTP 500')
      expect(error.cause).toBeInstanceOf(Error)
      expect(proxy.requests.length).toBeGreaterThan(1)
    })

    it('recovers from a temporary failure', async () => {
      const changed = await prepared()
      for (const fault of [SLOW_DOWN, 'cut before'] as const) {
        proxy.faults(fault, 'none')
        await call(changed)
        expect(proxy.requests.length).toBeGreaterThan(1)
      }
    })

    it('rejects after the timeout without a response', async () => {
      proxy.faults('hang')
      const limits = { timeoutSeconds: 0.1, completeTimeoutSeconds: 0.1 }
      await expect(call(subject, limits)).rejects.toThrow(
        `s3Storage: ${name} failed in bucket "${bucket}": TimeLimitError: no response within 0.1 s`,
      )
    })

    it('rejects if the signal is aborted', async () => {
      proxy.faults('hang')
      const controller = new AbortController()
      const arrived = proxy.nextRequest()
      const pending = call(subject, {}, controller.signal)
      await arrived
      controller.abort(new Error('the client has disconnected'))
      await expect(pending).rejects.toThrow(/^the client has disconnected$/)
      expect(proxy.requests).toHaveLength(1)
    })
  })

  it.each<[string, Fault, RegExp]>([
    ['too many requests', SLOW_DOWN, /HTTP 503/],
    ['a server that is not S3', { status: 418, body: 'teapot' }, /HTTP 418/],
    ['a refusal', { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' }, /HTTP 403/],
    ['a closed connection', 'cut before', /ECONNRESET|socket hang up/],
  ])('rejects with the reason: %s', async (_, fault, reason) => {
    const once = throughProxy({ maxAttempts: 1 })
    proxy.faults(fault)
    await expect(storage({ client: once }).head({ bucket, key: 'a' })).rejects.toThrow(reason)
    once.destroy()
  })

  it('rejects if nothing listens at the endpoint', async () => {
    const nowhere = clientOf(server, { endpoint: `http://127.0.0.1:${await freePort()}` })
    await expect(s3Storage({ client: nowhere }).head({ bucket, key: 'a' })).rejects.toThrow('ECONNREFUSED')
  })

  it('retries after the request timeout of the client', async () => {
    const { upload } = await prepared()
    proxy.faults('hang', 'none')
    // A slow machine may need more attempts.
    const impatient = { requestTimeout: 300, throwOnRequestTimeout: true }
    const retrying = throughProxy({ maxAttempts: 1000, requestHandler: impatient })
    expect(await storage({ client: retrying, timeoutSeconds: 800 }).head(upload)).toMatchObject({ size: 5 })
    expect(proxy.requests.length).toBeGreaterThan(1)
  })

  describe('with timers of the test', () => {
    beforeEach(() => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      return () => void vi.useRealTimers()
    })

    /** Fires timers that are due at once, such as those of a retry, until the condition holds. */
    async function until(isTrue: () => boolean): Promise<void> {
      while (!isTrue()) {
        await vi.advanceTimersByTimeAsync(0)
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    const untilRequested = (count: number) => until(() => proxy.requests.length >= count)
    async function settled<T>(call: Promise<T>): Promise<T> {
      let isOver = false
      void call.finally(() => (isOver = true)).catch(() => undefined)
      await until(() => isOver)
      return call
    }

    it('waits longer than the request timeout for a completion', async () => {
      const { inParts, parts } = await prepared()
      let release = (): void => undefined
      proxy.faults({ until: new Promise<void>((resolve) => (release = resolve)) })
      const impatient = { requestTimeout: MINUTE, throwOnRequestTimeout: true }
      const { multipart } = storage({ client: throughProxy({ requestHandler: impatient }) })
      const completed = multipart!.complete({ ...inParts, parts })
      await untilRequested(1)
      await vi.advanceTimersByTimeAsync(MINUTE)
      release()
      expect(await settled(completed)).toBe(true)
      expect(proxy.requests).toHaveLength(1)
    })

    it('applies the timeout to all requests of a call together', async () => {
      let release = (): void => undefined
      proxy.faults({ until: new Promise<void>((resolve) => (release = resolve)) }, 'hang')
      const head = failureOf(storage({ timeoutSeconds: 60 }).head({ bucket, key: 'nothing' }))
      await untilRequested(1)
      await vi.advanceTimersByTimeAsync(MINUTE - 1)
      release()
      await untilRequested(2)
      await vi.advanceTimersByTimeAsync(1)
      expect((await settled(head)).message).toContain('no response within 60 s')
    })
  })

  it('rejects if the object cannot be accessed but the bucket can', async () => {
    proxy.faults({ status: 403 }, 'none')
    await expect(storage().head({ bucket, key: 'a' })).rejects.toThrow('HTTP 403')
    // A GET, whose error would have a reason.
    expect(proxy.requests).toHaveLength(2)
  })

  it('rejects if the object is missing and the bucket cannot be accessed', async () => {
    for (const fault of [{ status: 403 }, { status: 404 }, { status: 301 }] as const) {
      proxy.faults('none', fault)
      await expect(storage().head({ bucket, key: 'nothing' })).rejects.toThrow(`HTTP ${fault.status}`)
    }
  })

  it('rejects after the timeout if the credentials never resolve', async () => {
    const { endpoint } = server
    const waiting = clientOf(server, { endpoint, credentials: () => new Promise(() => {}) })
    const other = s3Storage({ client: waiting, timeoutSeconds: 0.1 })
    await expect(other.signUpload(uploadTo(bucket))).rejects.toThrow('no response within 0.1 s')
    await expect(other.head({ bucket, key: 'a' })).rejects.toThrow('no response within 0.1 s')
  })

  describe.each(['cut after', 'cut within'] as const)('if a response is lost (%s)', (fault) => {
    it('has removed the object', async () => {
      const { upload } = await prepared()
      proxy.faults(fault)
      await storage()
        .remove(upload)
        .catch(() => undefined)
      expect(await directStorage.head(upload)).toBeNull()
      proxy.faults(fault, 'none')
      await storage().remove(upload)
    })

    it('shows with head that the upload was completed', async () => {
      const { inParts, parts } = await prepared()
      proxy.faults(fault)
      await storage()
        .multipart!.complete({ ...inParts, parts })
        .catch(() => undefined)
      expect(await directStorage.head(inParts)).toMatchObject({ size: 5, attemptId: 'a' })
    })

    it('lists every upload whose creation was not confirmed', async () => {
      const key = createAttemptId()
      proxy.faults(fault)
      const input = { bucket, key, contentType: 'a/b', attemptId: 'a' }
      await expect(storage().multipart!.create(input)).rejects.toThrow()
      const begun = await directStorage.multipart!.list({ bucket, key })
      expect(begun).toHaveLength(proxy.requests.length)
      for (const uploadId of begun) await directStorage.multipart!.abort({ bucket, key, uploadId })
      expect(await directStorage.multipart!.list({ bucket, key })).toEqual([])
    })

    it('rejects if a retry starts a second upload', async () => {
      const at = { bucket, key: createAttemptId() }
      proxy.faults(fault, 'none')
      await expect(
        storage().multipart!.create({ ...at, contentType: 'a/b', attemptId: 'a' }),
      ).rejects.toThrow('a retry has started a second upload')
      expect(await directStorage.multipart!.list(at)).toHaveLength(2)
    })

    it('has aborted the upload', async () => {
      const { inParts } = await prepared()
      proxy.faults(fault, 'none')
      await storage().multipart!.abort(inParts)
      expect(await directStorage.multipart!.list(inParts)).toEqual([])
    })
  })

  it('returns false if a completion fails because the upload has ended', async () => {
    const { inParts, parts } = await prepared()
    await directStorage.multipart!.abort(inParts)
    proxy.faults(BROKEN, BROKEN, BROKEN, 'none')
    expect(await storage().multipart!.complete({ ...inParts, parts })).toBe(false)
  })

  it('rejects if a completion fails and the upload is still open', async () => {
    const { inParts, parts } = await prepared()
    proxy.faults(BROKEN, BROKEN, BROKEN, 'none')
    await expect(storage().multipart!.complete({ ...inParts, parts })).rejects.toThrow('HTTP 500')
    expect(await directStorage.head(inParts)).toBeNull()
  })
})

async function failureOf(call: Promise<unknown>): Promise<Error> {
  const outcome = await call.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(outcome instanceof Error)) throw new Error('The call must reject.')
  return outcome
}

/** Removes the backoff between the SDK's retries, which would only slow the tests down. */
function withoutBackoff(client: S3Client): S3Client {
  const original = client.config.retryStrategy
  const retryBackoffStrategy = { setDelayBase: () => undefined, computeNextBackoffDelay: () => 0 }
  client.config.retryStrategy = async () => Object.assign(await original(), { retryBackoffStrategy })
  return client
}
