import { request } from 'node:http'
import type { Response } from 'express'
import { expect, it, type TestContext } from 'vitest'
import type { Lie } from './client-page.js'
import type { Engine } from './engines/engine.js'
import { describeInEngines } from './engines/engines.js'
import {
  bytesOf,
  openEngineSession,
  settle,
  upload,
  type EngineSession,
  type Outcome,
  type UploadPlan,
} from './engines/session.js'

const NOTHING_USED = { bytes: 0, files: 0, reservedBytes: 0, reservedFiles: 0 }
const IN_PARTS = 16 * 1024 ** 2 + 1000

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
    stallSeconds: 3,
  },
  'a bucket that stops reading': {
    size: 8_000_000,
    lie: first({ PUT: 1 }, () => {}),
    stallSeconds: 3,
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

await describeInEngines('an upload', (engine) => {
  it.for(Object.entries(FAULTS))(
    'survives or reports %s',
    async ([, { lie, error, calls = {}, ...plan }], test) => {
      const session = await open(engine(), test)
      const { tab, server, count } = session
      session.lie(lie)
      const outcome = await upload(tab, { size: 1000, ...plan })
      if (error) {
        expect(outcome).toMatchObject(error)
        expect(await server.usage()).toEqual(NOTHING_USED)
      } else {
        await expectStored(session, outcome, plan.size)
      }
      expect(Object.fromEntries(Object.keys(calls).map((line) => [line, count(line)]))).toEqual(calls)
      expect(await tab.evaluate(() => Object.keys(localStorage))).toEqual([])
    },
  )

  it('survives the loss of a connection that the bucket does not notice', async (test) => {
    const session = await open(engine(), test)
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
    await expectStored(session, await upload(session.tab, { size: 1000, stallSeconds: 3 }))
  })

  it('keeps what has arrived when a login page comes in place of the confirm', async (test) => {
    const { tab, server, lie } = await open(engine(), test)
    lie(first({ 'POST /upload/confirm': Infinity }, (res) => portal(res, 200)))
    expect(await upload(tab, { size: 1000 })).toMatchObject({ result: 'UNEXPECTED_RESPONSE', status: 200 })
    expect(await server.usage()).toEqual({ ...NOTHING_USED, reservedBytes: 1000, reservedFiles: 1 })
    server.lie(null)
    expect(await settle(tab)).toEqual({ confirmed: 1, ended: 0, kept: 0 })
    expect(await server.usage()).toEqual({ ...NOTHING_USED, bytes: 1000, files: 1 })
  })

  it('begins with at most five others of three hundred, and none fails', async (test) => {
    const { tab, server } = await open(engine(), test)
    let [begun, most] = [0, 0]
    server.lie((line, _call, res, serve) => {
      if (line === 'POST /upload') most = Math.max(most, ++begun)
      if (line === 'POST /upload/confirm') res.on('close', () => begun--)
      serve()
    })
    const results = await tab.evaluate(async () => {
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

/** Opens a session that counts the requests which the lie is told of. */
async function open(
  engine: Engine,
  test: TestContext,
): Promise<EngineSession & { readonly count: (line: string) => number; readonly lie: (next: Lie) => void }> {
  const session = await openEngineSession(engine, test)
  const lines: string[] = []
  const lie = (next: Lie) =>
    session.server.lie((line, call, res, serve) => {
      lines.push(line)
      next(line, call, res, serve)
    })
  return { ...session, count: (line) => lines.filter((other) => other === line).length, lie }
}

/** Expects that the file is stored once, as it is. */
async function expectStored({ server }: EngineSession, { result, key }: Outcome, size = 1000): Promise<void> {
  expect(result).toBe('active')
  expect((await server.bytesOf(key!)).equals(bytesOf(size))).toBe(true)
  expect(await server.usage()).toMatchObject({ bytes: size, files: 1 })
}
