import { createS3Client, type S3Api } from '@svc/db/client'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { timeUntilSettled } from './fake-time.js'
import { stubLocalStorage } from './local-storage.js'
import { stubPageEvents } from './page-events.js'
import { rejectionOf } from './rejection.js'
import { NOTHING_USED, startClient, type ServerFixtureOptions } from './server.js'
import { MULTIPART_MIN_SIZE } from '../../../src/client/upload/sizes.js'

const file = new File(['x'.repeat(1000)], 'a.txt', { type: 'text/plain', lastModified: 1 })
const ONE_FILE = { ...NOTHING_USED, bytes: 1000, files: 1 }

let entries: Map<string, string>

beforeEach(() => void (entries = stubLocalStorage()))
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
  vi.restoreAllMocks()
})

interface Network {
  /** What happens to a request; `undefined`: the server handles it. */
  fault: ((path: string, serve: () => Promise<Response>) => Promise<Response>) | undefined
}

function start(options: Pick<ServerFixtureOptions, 'now'> = {}) {
  const network: Network = { fault: undefined }
  const client = startClient({
    ...options,
    before: async (request, serve) => {
      const { pathname } = new URL(request.url)
      return network.fault ? network.fault(`${request.method} ${pathname}`, serve) : serve()
    },
  })
  const clientOf = (account?: string | (() => string | null | undefined) | null, user = 'ada') =>
    createS3Client({
      baseURL: 'http://files.test',
      plugins: [],
      fetch: client.fetch,
      headers: { 'x-user': user },
      ...(account !== undefined && { account }),
    }).api
  return { ...client, network, clientOf, usage: () => client.objects.getScopeUsage('ada') }
}

/** Returns the part number of the path of a signed URL. */
const partOf = (path: string) =>
  (
    JSON.parse(Buffer.from(/_storage\/([^.]*)/.exec(path)![1]!, 'base64url').toString()) as {
      partNumber?: number
    }
  ).partNumber

const unreachable = () => Promise.reject(new TypeError('fetch failed'))

/** Leaves the attempt that a tab had kept when it was closed, before or after its bytes arrived. */
async function leaveAttempt(
  { network, api }: Pick<ReturnType<typeof start>, 'network'> & { readonly api: Pick<S3Api, 'upload'> },
  { hasArrived, urlHasExpired = true }: { hasArrived: boolean; urlHasExpired?: boolean },
): Promise<void> {
  let kept: [string, string][] = []
  network.fault = async (path, serve) => {
    if (!path.startsWith('PUT')) return serve()
    if (hasArrived) await serve()
    kept = [...entries]
    return new Promise(() => undefined)
  }
  const controller = new AbortController()
  const upload = api.upload(file, { signal: controller.signal })
  await expect.poll(() => kept.length).toBeGreaterThan(0)
  let aborts = 0
  network.fault = (path, serve) => {
    if (!path.endsWith('/abort')) return serve()
    aborts++
    return unreachable()
  }
  controller.abort()
  expect(await rejectionOf(upload)).toMatchObject({ code: 'ABORTED' })
  await expect.poll(() => aborts).toBe(1)
  network.fault = undefined
  // A stored attempt names the page that wrote it. With a new name and another page, it is one of another tab.
  entries.clear()
  for (const [name, value] of kept) {
    const attempt = JSON.parse(value) as { until: number }
    const until = urlHasExpired ? 0 : attempt.until
    entries.set(`${name}-other-tab`, JSON.stringify({ ...attempt, until, page: 0 }))
  }
}

describe('api.settleUploads', () => {
  it('ends the attempt of a closed tab whose bytes have not arrived', async () => {
    const client = start()
    await leaveAttempt(client, { hasArrived: false })
    expect(await client.usage()).toMatchObject({ reservedBytes: 1000 })
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 1, kept: 0 })
    expect(await client.usage()).toEqual(NOTHING_USED)
    expect(entries.size).toBe(0)
  })

  it('confirms the attempt of a closed tab whose bytes have arrived', async () => {
    const client = start()
    await leaveAttempt(client, { hasArrived: true })
    expect(await client.api.settleUploads()).toEqual({ confirmed: 1, ended: 0, kept: 0 })
    expect(await client.usage()).toEqual(ONE_FILE)
    expect(entries.size).toBe(0)
  })

  it('leaves an attempt alone whose URL has not expired, without locks', async () => {
    const client = start()
    vi.stubGlobal('navigator', {})
    await leaveAttempt(client, { hasArrived: false, urlHasExpired: false })
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 1 })
    expect(await client.usage()).toMatchObject({ reservedBytes: 1000 })
  })

  it.each([0, 1])(
    'leaves an upload in parts alone, without locks, with a clock %i h ahead of the server',
    async (hours) => {
      const client = start({ now: () => new Date(Date.now() - hours * 3_600_000) })
      vi.stubGlobal('navigator', {})
      const sending = new Promise((resolve) => {
        client.network.fault = async (path, serve) => {
          if (!path.startsWith('PUT')) return serve()
          resolve(path)
          return new Promise(() => undefined)
        }
      })
      const controller = new AbortController()
      const upload = client.api.upload(new Blob([new Uint8Array(MULTIPART_MIN_SIZE)]), controller)
      await sending
      const kept = [...entries]
      entries.clear()
      for (const [name, value] of kept)
        entries.set(`${name}-other-tab`, JSON.stringify({ ...(JSON.parse(value) as object), page: 0 }))
      expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 1 })
      controller.abort()
      await rejectionOf(upload)
    },
  )

  it('runs before the next upload', async () => {
    const client = start()
    await leaveAttempt(client, { hasArrived: false })
    await client.api.upload(file)
    expect(await client.usage()).toEqual(ONE_FILE)
  })

  it('keeps what it could not settle', async () => {
    const client = start()
    await leaveAttempt(client, { hasArrived: false })
    client.network.fault = unreachable
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 1 })
    client.network.fault = undefined
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 1, kept: 0 })
  })

  it('repeats an abort that could not reach the server, even if the bytes have arrived', async () => {
    const client = start()
    const controller = new AbortController()
    let aborts = 0
    client.network.fault = async (path, serve) => {
      if (path.endsWith('/abort')) {
        aborts++
        return unreachable()
      }
      const response = await serve()
      if (path.startsWith('PUT')) controller.abort()
      return response
    }
    expect(await rejectionOf(client.api.upload(file, { signal: controller.signal }))).toMatchObject({
      code: 'ABORTED',
    })
    await expect.poll(() => aborts).toBe(1)
    expect(await client.usage()).toMatchObject({ reservedBytes: 1000 })
    client.network.fault = undefined
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 1, kept: 0 })
    expect(await client.usage()).toEqual(NOTHING_USED)
  })
})

describe('the option account', () => {
  it('separates the attempts of two people', async () => {
    const client = start()
    const ada = { ...client, api: client.clientOf('ada') }
    await leaveAttempt(ada, { hasArrived: false })
    const grace = client.clientOf(() => 'grace', 'grace')
    expect(await grace.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
    expect(await client.clientOf(null).settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
    expect(entries.size).toBe(1)
    expect(await ada.api.settleUploads()).toEqual({ confirmed: 0, ended: 1, kept: 0 })
  })

  it('may be undefined, like null', async () => {
    const client = start()
    await leaveAttempt({ ...client, api: client.clientOf(null) }, { hasArrived: false })
    const signedOut = client.clientOf(() => undefined)
    expect(await signedOut.settleUploads()).toEqual({ confirmed: 0, ended: 1, kept: 0 })
  })

  it('refuses other values', async () => {
    const wrong: unknown[] = [5, true, {}, Promise.resolve('ada')]
    for (const value of wrong) {
      expect(() => createS3Client({ plugins: [], account: value as string })).toThrow(TypeError)
      const { api } = createS3Client({ plugins: [], account: () => value as string })
      await expect(api.upload(file)).rejects.toThrow(TypeError)
      await expect(api.settleUploads()).rejects.toThrow('account must be a string or null')
    }
  })
})

describe('api.unfinishedUploads', () => {
  it.each(['', ' without AbortSignal.reason'])(
    'lists what can be resumed, and discards it%s',
    async (without) => {
      if (without) {
        const { reason } = Object.getOwnPropertyDescriptors(AbortSignal.prototype)
        Reflect.deleteProperty(AbortSignal.prototype, 'reason')
        onTestFinished(() => void Object.defineProperty(AbortSignal.prototype, 'reason', reason))
      }
      const client = start()
      const large = new File([new Uint8Array(MULTIPART_MIN_SIZE + 3)], 'film.mp4', { lastModified: 1 })
      client.network.fault = async (path, serve) => {
        if (!path.startsWith('PUT')) return serve()
        if (partOf(path) !== 3) return new Promise(() => undefined)
        const response = await serve()
        setImmediate(() => vi.advanceTimersByTime(60_000))
        return response
      }
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      const upload = rejectionOf(client.api.upload(large, { timeoutSeconds: 60 }))
      expect(await upload).toMatchObject({ code: 'TIMEOUT', status: undefined })
      client.network.fault = undefined
      const [unfinished, ...others] = await client.api.unfinishedUploads()
      expect(others).toEqual([])
      expect(unfinished).toMatchObject({
        filename: 'film.mp4',
        size: large.size,
        loaded: 3,
        object: { status: 'pending', filename: 'film.mp4' },
      })
      expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 1 })
      await unfinished?.discard()
      expect(await client.api.unfinishedUploads()).toEqual([])
      // A second click asks nothing, and leaves nothing to settle.
      await unfinished?.discard()
      expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 0 })
      expect(await client.usage()).toEqual(NOTHING_USED)
    },
  )
})

describe('a small upload beside others that can be resumed', () => {
  it('makes two requests of the API, once the page has asked about the others', async () => {
    const client = start()
    client.network.fault = (path, serve) => (path.startsWith('PUT') ? new Promise(() => undefined) : serve())
    const large = (index: number) =>
      new File([new Uint8Array(MULTIPART_MIN_SIZE)], `${index}.mp4`, { lastModified: 1 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    for (let index = 0; index < 3; index++) {
      const upload = rejectionOf(client.api.upload(large(index), { timeoutSeconds: 60 }))
      await timeUntilSettled(upload)
      expect(await upload).toMatchObject({ code: 'TIMEOUT' })
    }
    vi.useRealTimers()
    client.network.fault = undefined
    const requests = async () => {
      client.sent.length = 0
      await client.api.upload(file)
      return client.sent.filter(({ method }) => method === 'POST').map(({ target }) => target)
    }
    const own = ['/api/s3/upload', '/api/s3/upload/confirm']
    // Each upload has asked about those before it.
    expect(await requests()).toEqual(['/api/s3/multipart/list', ...own])
    expect(await requests()).toEqual(own)
    // An explicit call asks again.
    expect(await client.api.settleUploads()).toEqual({ confirmed: 0, ended: 0, kept: 3 })
    expect(client.sent.filter(({ target }) => target.endsWith('/list'))).toHaveLength(3)
    expect(await requests()).toEqual(own)
  })
})

describe('timeoutSeconds', () => {
  it('limits every call', async () => {
    const client = start()
    client.network.fault = () => new Promise(() => undefined)
    const options = { timeoutSeconds: 0.02 }
    const calls = [
      client.api.upload(file, options),
      client.api.download({ key: 'a', ...options }),
      client.api.delete({ key: 'a', ...options }),
      client.api.db.listObjects(options),
      client.api.db.getObject({ key: 'a', ...options }),
    ]
    for (const error of await Promise.all(calls.map(rejectionOf))) {
      expect(error).toMatchObject({ code: 'TIMEOUT', status: undefined })
    }
  })

  it('must be a number above 0', async () => {
    const { api } = start()
    for (const timeoutSeconds of [0, -1, NaN, '5' as unknown as number]) {
      await expect(api.download({ key: 'a', timeoutSeconds })).rejects.toThrow(TypeError)
      await expect(api.upload(file, { timeoutSeconds })).rejects.toThrow(TypeError)
    }
    expect(await rejectionOf(api.download({ key: 'a', timeoutSeconds: Infinity }))).toMatchObject({
      code: 'OBJECT_NOT_FOUND',
    })
  })
})

describe('an upload while the browser is offline', () => {
  it('waits, and starts again once it is online', async () => {
    const client = start()
    const events = new EventTarget()
    const browser = { onLine: true }
    vi.stubGlobal('navigator', browser)
    stubPageEvents(events)
    client.network.fault = async (path, serve) => {
      if (path.startsWith('PUT')) browser.onLine = false
      return browser.onLine ? serve() : unreachable()
    }
    const states: string[] = []
    const upload = client.api.upload(file, { onState: (state) => states.push(state) })
    await expect.poll(() => states).toContain('waiting')
    client.network.fault = undefined
    browser.onLine = true
    events.dispatchEvent(new Event('online'))
    expect(await upload).toMatchObject({ status: 'active' })
    expect(states).toEqual(['sending', 'waiting', 'sending', 'confirming'])
    expect(await client.usage()).toEqual(ONE_FILE)
  })

  it.each([10, MULTIPART_MIN_SIZE])('does not give %i bytes to who has signed in meanwhile', async (size) => {
    const client = start()
    const events = new EventTarget()
    const browser = { onLine: false }
    vi.stubGlobal('navigator', browser)
    stubPageEvents(events)
    client.network.fault = (_path, serve) => (browser.onLine ? serve() : unreachable())
    let account = 'ada'
    const api = client.clientOf(() => account)
    const states: string[] = []
    const upload = api.upload(new File([new Uint8Array(size)], 'a'), {
      onState: (state) => states.push(state),
    })
    await expect.poll(() => states).toContain('waiting')
    account = 'bob'
    browser.onLine = true
    events.dispatchEvent(new Event('online'))
    expect(await rejectionOf(upload)).toMatchObject({ code: 'ABORTED', status: undefined })
    expect(await client.usage()).toEqual(NOTHING_USED)
    expect(entries.size).toBe(0)
  })
})

describe('a refusal of a signed URL', () => {
  it('keeps the code of this API’s format, and the body of any other', async () => {
    const client = start()
    const refuse = (body: string) => {
      client.network.fault = async (path, serve) =>
        path.startsWith('PUT') ? new Response(body, { status: 403 }) : serve()
      return rejectionOf(client.api.upload(file))
    }
    expect(await refuse('{"code":"FORBIDDEN","message":"No."}')).toMatchObject({
      code: 'FORBIDDEN',
      status: 403,
    })
    const foreign = '{"code":"PLAN_ENDED","message":"No."}'
    expect(await refuse(foreign)).toMatchObject({
      code: 'UNEXPECTED_RESPONSE',
      params: { body: foreign, code: 'PLAN_ENDED' },
    })
    expect(await refuse('😀'.repeat(600))).toMatchObject({
      code: 'UNEXPECTED_RESPONSE',
      status: 403,
      params: { body: '😀'.repeat(500) },
    })
  })
})
