import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as clientExports from '@svc/db/client'
import type { Response } from 'express'
import type { Page } from 'playwright-core'
import { describe, expect, it, type TestContext } from 'vitest'
import { HOUR, ManualClock, SECOND } from '../conformance/clock.js'
import { until } from '../until.js'
import { openSession, throttle, untilKept, type BrowserSession } from './browser-session.js'
import { findChromium, useBrowser } from './chromium.js'
import type { ClientPageOptions, Lie } from './client-page.js'

declare global {
  interface Window {
    client: typeof clientExports
    /** The file to upload. Default: one that `upload` makes. */
    chosen: File | undefined
    loaded: number | undefined
  }
}

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
const IN_PARTS = 16 * 1024 ** 2 + 1000

interface Outcome {
  readonly key?: string
  /** `active`, or the code of the error. */
  readonly result: string
  readonly status: number | undefined
  readonly params: object | undefined
}

type Change = 'is cut' | 'is written again'

interface UploadPlan {
  readonly size?: number
}

/** Uploads a file, the same each time, whose bytes are those of `bytesOf`. */
function upload(page: Page, plan: UploadPlan = {}): Promise<Outcome> {
  return page.evaluate(async ({ size = 1000 }): Promise<Outcome> => {
    const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
    const bytes = Uint8Array.from({ length: size }, (_, index) => index % 251)
    const file = window.chosen ?? new File([bytes], 'a.bin', { lastModified: 1 })
    const onProgress = ({ loaded }: clientExports.UploadProgress) => void (window.loaded = loaded)
    return api.upload(file, { onProgress }).then(
      ({ key, status }) => ({ key, result: status, status: undefined, params: undefined }),
      ({ code, status, params }: clientExports.S3ClientError) => ({ result: code, status, params }),
    )
  }, plan)
}

const bytesOf = (size: number) => Buffer.from(Uint8Array.from({ length: size }, (_, index) => index % 251))

const settle = (page: Page) =>
  page.evaluate(() => {
    const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
    return api.settleUploads()
  })

/** Responds in place of the server, like a gateway or a captive portal. */
const portal = (res: Response, status: number, headers = {}) =>
  void res.status(status).set(headers).type('html').send('<h1>Sign in</h1>')

/** Another origin, which allows no page to read it. */
const elsewhere = (res: Response) => ({
  location: String(res.req.headers.origin).replace('127.0.0.1', 'localhost'),
})

const loseResponse = (res: Response, serve: () => void) => {
  res.end = () => res.destroy()
  serve()
}

const withoutCORS = (res: Response, serve: () => void) => {
  for (const name of res.getHeaderNames()) if (name.startsWith('access-control')) res.removeHeader(name)
  serve()
}

/** Applies a lie to the first calls of these kinds. */
const first =
  (calls: Readonly<Record<string, number>>, fault: (res: Response, serve: () => void) => void): Lie =>
  (line, call, res, serve) =>
    call <= (calls[line] ?? 0) ? fault(res, serve) : serve()

interface Fault extends UploadPlan {
  readonly lie: Lie
  /** The lie never responds. The clock of the page jumps by more than `stallSeconds` whenever it is told. */
  readonly isSilent?: boolean
  /** Default: the file is active, with all its bytes. */
  readonly error?: { readonly result: string; readonly status?: number; readonly params?: object }
  /** Number of requests of each kind. A browser repeats some by itself when a connection closes. */
  readonly calls?: Readonly<Record<string, number>>
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'an API that responds with 503 for a while': {
    lie: first({ 'POST /upload': 3, 'POST /upload/confirm': 2 }, (res) => portal(res, 503)),
    calls: { 'POST /upload': 4, PUT: 1, 'POST /upload/confirm': 3 },
  },
  'a bucket that responds with 503 for a while': {
    lie: first({ PUT: 3 }, (res) => portal(res, 503)),
    calls: { 'POST /upload': 1, PUT: 4 },
  },
  'an API that asks to wait for more than a minute': {
    lie: first({ 'POST /upload': 1 }, (res) => portal(res, 503, { 'retry-after': '120' })),
    error: { result: 'UNEXPECTED_RESPONSE', status: 503, params: { retryAfter: 120 } },
    calls: { 'POST /upload': 1 },
  },
  'the loss of the first response to each call': {
    lie: first({ 'POST /upload': 1, PUT: 1, 'POST /upload/confirm': 1 }, loseResponse),
  },
  'the loss of the first response to each call of an upload in parts': {
    size: IN_PARTS,
    lie: first(
      { 'POST /multipart': 1, 'POST /multipart/parts': 1, PUT: 2, 'POST /multipart/complete': 1 },
      loseResponse,
    ),
  },
  'an API that holds the first request of each kind': {
    lie: first({ 'POST /upload': 1, 'POST /upload/confirm': 1 }, () => {}),
    isSilent: true,
  },
  'a bucket that stops reading': {
    size: 8_000_000,
    lie: first({ PUT: 1 }, () => {}),
    isSilent: true,
  },
  'a line that is cut in the middle of the bytes': {
    size: 2_000_000,
    lie: first({ PUT: 2 }, (res) => void res.req.once('data', () => res.destroy())),
  },
  'a bucket that closes every connection': {
    lie: first({ PUT: Infinity }, (res) => void res.destroy()),
    error: { result: 'NETWORK_ERROR' },
    calls: { 'POST /upload': 2, 'POST /upload/abort': 2 },
  },
  'a bucket without CORS rules': {
    lie: first({ OPTIONS: Infinity, PUT: Infinity }, withoutCORS),
    error: { result: 'NETWORK_ERROR' },
    calls: { 'POST /upload': 2, PUT: 0, 'POST /upload/abort': 2 },
  },
  'a bucket whose responses to a PUT lack the headers of its CORS rules': {
    lie: first({ PUT: Infinity }, withoutCORS),
    calls: { 'POST /upload': 1, 'POST /upload/confirm': 1 },
  },
  'a login page in place of the API': {
    lie: first({ 'POST /upload': Infinity }, (res) => portal(res, 200)),
    error: { result: 'UNEXPECTED_RESPONSE', status: 200, params: { body: '<h1>Sign in</h1>' } },
    calls: { 'POST /upload': 1 },
  },
  'a redirect of the API to a login page': {
    lie: first({ 'POST /upload': Infinity }, (res) => portal(res, 302, elsewhere(res))),
    error: { result: 'UNEXPECTED_RESPONSE', status: 0 },
    calls: { 'POST /upload': 1 },
  },
  'a login page in place of the bucket': {
    lie: first({ PUT: Infinity }, (res) => portal(res, 200)),
    error: { result: 'UPLOAD_MISMATCH', status: 409 },
    calls: { 'POST /upload': 1, PUT: 1, 'POST /upload/abort': 1 },
  },
  'a redirect of the bucket to a login page': {
    lie: first({ PUT: Infinity }, (res) => portal(res, 302, elsewhere(res))),
    error: { result: 'NETWORK_ERROR' },
    calls: { 'POST /upload': 2, 'POST /upload/abort': 2 },
  },
}

const executablePath = await findChromium()

describe.skipIf(executablePath === null)('an upload in a browser', () => {
  const browser = useBrowser(executablePath)

  async function open(
    { onTestFinished }: TestContext,
    options?: ClientPageOptions,
  ): Promise<
    BrowserSession & { readonly count: (line: string) => number; readonly lie: (next: Lie) => void }
  > {
    const { close, ...session } = await openSession(browser(), options)
    onTestFinished(close)
    const lines: string[] = []
    const lie = (next: Lie) =>
      session.server.lie((line, call, res, serve) => {
        lines.push(line)
        next(line, call, res, serve)
      })
    return { ...session, count: (line) => lines.filter((other) => other === line).length, lie }
  }

  /** Expects that the file is stored once, as it is. */
  async function expectStored(
    { server }: BrowserSession,
    { result, key }: Outcome,
    size = 1000,
  ): Promise<void> {
    expect(result).toBe('active')
    expect((await server.bytesOf(key!)).equals(bytesOf(size))).toBe(true)
    expect(await server.usage()).toMatchObject({ bytes: size, files: 1 })
  }

  // At once, because most of the time is spent in pauses.
  it.concurrent.for(Object.entries(FAULTS))(
    'survives or reports %s',
    async ([, { lie, error, calls = {}, isSilent, ...plan }], test) => {
      const session = await open(test)
      const { page, server, count } = session
      if (isSilent) await page.clock.install()
      session.lie((line, call, res, serve) => {
        let isServed = false
        lie(line, call, res, () => {
          isServed = true
          serve()
        })
        if (isSilent && !isServed) void page.clock.fastForward(31 * SECOND)
      })
      const outcome = await upload(page, plan)
      if (error) {
        expect(outcome).toMatchObject(error)
        expect(await server.usage()).toEqual(NOTHING_USED)
      } else {
        await expectStored(session, outcome, plan.size)
      }
      expect(Object.fromEntries(Object.keys(calls).map((line) => [line, count(line)]))).toEqual(calls)
      expect(await page.evaluate(() => Object.keys(localStorage))).toEqual([])
    },
  )

  it.concurrent('survives a slow line that makes progress', async (test) => {
    const session = await open(test)
    const { page } = session
    await page.clock.install()
    await throttle(page, 100_000)
    const outcome = upload(page, { size: 600_000 })
    for (let jumps = 0, loaded = 0; jumps < 2; jumps++) {
      await page.waitForFunction((before) => (window.loaded ?? 0) > before, loaded)
      loaded = await page.evaluate(() => window.loaded!)
      // Together more than `stallSeconds`.
      await page.clock.fastForward(20 * SECOND)
    }
    await expectStored(session, await outcome, 600_000)
  })

  it.concurrent('survives the loss of a connection that the bucket does not notice', async (test) => {
    const session = await open(test)
    let lost: Response | undefined
    session.lie((line, call, res, serve) => {
      if (line !== 'PUT') serve()
      else if (call === 1) {
        lost = res
        const { headers, originalUrl: path } = res.req
        const first = request(`http://${headers.host}${path}`, { method: 'PUT', headers })
        first.on('error', () => {})
        first.write(bytesOf(10))
      } else {
        serve()
        lost?.destroy()
      }
    })
    await expectStored(session, await upload(session.page))
  })

  it.concurrent('keeps what has arrived when a login page comes in place of the confirm', async (test) => {
    const session = await open(test)
    const { page, server, lie } = session
    lie(first({ 'POST /upload/confirm': Infinity }, (res) => portal(res, 200)))
    expect(await upload(page)).toMatchObject({ result: 'UNEXPECTED_RESPONSE', status: 200 })
    expect(await server.usage()).toEqual({ ...NOTHING_USED, reservedBytes: 1000, reservedFiles: 1 })
    server.lie(null)
    expect(await settle(page)).toEqual({ confirmed: 1, ended: 0, kept: 0 })
    expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: 1000, files: 1 })
  })

  it.concurrent('is resumed after a crash of the page, and sends only the missing parts', async (test) => {
    const session = await open(test)
    const { page, server, openPage } = session
    server.hold([2, 3])
    void upload(page, { size: IN_PARTS }).catch(() => null)
    await until(() => server.partsStored.length === 1 && server.partsSent.length === 3)
    await untilKept(page)
    const crashed = page.waitForEvent('crash')
    const cdp = await page.context().newCDPSession(page)
    void cdp.send('Page.crash').catch(() => null)
    await crashed
    server.hold([])
    await expectStored(session, await upload(await openPage(), { size: IN_PARTS }), IN_PARTS)
    expect([...server.partsSent].sort()).toEqual([1, 2, 2, 3, 3])
  })

  /** Uploads a file that changes once so many PUTs are on their way, which the bucket doesn't read before that. */
  async function uploadChanging(
    { page, server }: BrowserSession,
    size: number,
    puts: number,
    change: Change,
  ) {
    const directory = mkdtempSync(join(tmpdir(), 'svc-db-changing-'))
    const file = join(directory, 'log.bin')
    try {
      writeFileSync(file, Buffer.alloc(size * 1_000_000, 'a'))
      await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<input type="file">'))
      await page.setInputFiles('input', file)
      await page.evaluate(() => (window.chosen = document.querySelector('input')!.files![0]!))
      const held: (() => void)[] = []
      server.lie((line, _call, _res, serve) => (line === 'PUT' ? held.push(serve) : serve()))
      const outcome = upload(page)
      await until(() => held.length === puts)
      if (change === 'is cut') truncateSync(file, 1_000_000)
      else writeFileSync(file, Buffer.alloc(size * 1_000_000, 'b'), { flag: 'r+' })
      server.lie(null)
      for (const serve of held) serve()
      return await outcome
    } finally {
      rmSync(directory, { recursive: true })
    }
  }

  it.concurrent.for([
    [15, 1],
    [17, 3],
  ] as const)(
    'sends what it has read of a file of %i MB that is written again meanwhile',
    async ([size, puts], test) => {
      const session = await open(test)
      const { key, result } = await uploadChanging(session, size, puts, 'is written again')
      expect(result).toBe('active')
      expect((await session.server.bytesOf(key!)).equals(Buffer.alloc(size * 1_000_000, 'a'))).toBe(true)
    },
  )

  it.concurrent.for(['is cut', 'is written again'] as const)(
    'reports a file with parts to read that %s meanwhile',
    async (change, test) => {
      const session = await open(test)
      expect((await uploadChanging(session, 50, 4, change)).result).toBe('FILE_UNREADABLE')
      expect(await session.server.usage()).toEqual(NOTHING_USED)
    },
  )

  it.concurrent.for([1000, IN_PARTS])(
    'begins anew after a sleep of the computer: %i bytes',
    async (size, test) => {
      const clock = new ManualClock()
      const session = await open(test, { now: clock.now })
      const { page, server } = session
      await page.clock.install()
      const held: Response[] = []
      server.lie((line, _call, res, serve) => (line === 'PUT' ? held.push(res) : serve()))
      const outcome = upload(page, { size })
      await until(() => held.length === (size === 1000 ? 1 : 3))
      clock.advance(12 * HOUR)
      server.lie(null)
      for (const res of held) res.destroy()
      // Fires all timers that are due once, as browsers do after a sleep.
      await page.clock.fastForward(12 * HOUR)
      const done = outcome.then(() => true)
      while (!(await Promise.race([done, page.clock.runFor(SECOND)]))) continue
      await expectStored(session, await outcome, size)
    },
  )

  it.concurrent('lets six of three hundred begin at once, and none fails', async (test) => {
    const { page, server } = await open(test)
    let [begun, most] = [0, 0]
    server.lie((line, _call, res, serve) => {
      if (line === 'POST /upload') most = Math.max(most, ++begun)
      if (line === 'POST /upload/confirm') res.on('close', () => begun--)
      serve()
    })
    const results = await page.evaluate(async () => {
      const { api } = window.client.createS3Client({ plugins: [], headers: { 'x-user': 'ada' } })
      const files = Array.from({ length: 300 }, (_, index) => new File([String(index)], `${index}.txt`))
      const uploads = files.map((file) => api.upload(file).then(({ status }) => status, String))
      return [...new Set(await Promise.all(uploads))]
    })
    expect(results).toEqual(['active'])
    expect(most).toBeLessThanOrEqual(6)
    expect(await server.usage()).toMatchObject({ files: 300, reservedFiles: 0 })
  })
})
