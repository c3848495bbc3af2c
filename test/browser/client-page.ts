import type { IncomingHttpHeaders } from 'node:http'
import { fileURLToPath } from 'node:url'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { build } from 'esbuild'
import express, { type Response } from 'express'
import { startHttpServer } from '../servers/http-server.js'
import type { NetworkNamespace } from '../servers/network-namespace.js'

const sourceOf = (entry: string) =>
  JSON.stringify(fileURLToPath(new URL(`../../src/client/${entry}.ts`, import.meta.url)))

/** A service worker that answers each request of its pages, as those of frameworks do by default. */
const PASSING_WORKER = `
  addEventListener('install', () => skipWaiting())
  addEventListener('activate', (event) => event.waitUntil(clients.claim()))
  addEventListener('fetch', (event) => event.respondWith(fetch(event.request)))
`

/** How the bucket handles uploads. */
export type BucketFault = 'none' | 'cut before' | 'cut after' | 'hold'

export interface ClientPage {
  /** URL of a page with the exports of the client and of its uploads as `window.client` and `window.uploads`, which sets a cookie. */
  readonly url: string
  /** Headers of all requests to the bucket except preflights. */
  readonly toBucket: readonly IncomingHttpHeaders[]
  /** Numbers of the stored parts, in order. */
  readonly partsStored: readonly number[]
  /** Numbers of the parts sent to the bucket, in order, stored or not. */
  readonly partsSent: readonly number[]
  /** Requests to the API, such as `POST /multipart/list`. */
  readonly toAPI: readonly string[]
  usage(): Promise<object>
  /** Rejects an upload that waits for its check. */
  reject(upload: { readonly id: string; readonly key: string }, reason: string): Promise<unknown>
  /** Downloads an active object. */
  bytesOf(key: string): Promise<Buffer>
  /** Keeps the bucket from responding to these parts until the next call. */
  hold(parts: readonly number[]): void
  fail(fault: BucketFault): void
  /** Has a lying proxy in front of the API and the bucket handle their requests. `null`: none. */
  lie(lie: Lie | null): void
  stop(): Promise<void>
}

/** What a proxy does with a request, such as `POST /upload` or `PUT`. `call` counts those of one kind. `serve` passes it on. */
export type Lie = (line: string, call: number, res: Response, serve: () => void) => void

export interface ClientPageOptions {
  readonly policyOf?: PolicyOf
  /** The clock of server and bucket. */
  readonly now?: () => Date
  /** The network of the browser. Default: the machine's. */
  readonly network?: NetworkNamespace
  /** Whether uploads are checked before they are visible. */
  readonly check?: boolean
  /** How many bytes a second the line to the bucket carries in that network. Default: any number. */
  readonly bytesPerSecond?: number
}

/** Returns the Content-Security-Policy of a page, given the origin of the bucket. */
export type PolicyOf = (bucketOrigin: string) => string

/** Starts a page with the client, its API, and a bucket on another origin. */
export async function startClientPage({
  policyOf,
  now = () => new Date(),
  network,
  bytesPerSecond,
  check = false,
}: ClientPageOptions = {}): Promise<ClientPage> {
  const script = await clientScript
  const objects = memoryAdapter({ now })
  const toBucket: IncomingHttpHeaders[] = []
  const [partsStored, partsSent, toAPI]: [number[], number[], string[]] = [[], [], []]
  let held: readonly number[] = []
  let fault: BucketFault = 'none'
  let lie: Lie | null = null
  const calls = new Map<string, number>()
  const pass = (line: string, res: Response, serve: () => void) => {
    const call = (calls.get(line) ?? 0) + 1
    calls.set(line, call)
    if (lie) lie(line, call, res, serve)
    else serve()
  }

  const bucket = express()
  // Six parts that share a slow line take longer than the five minutes that Node.js gives a request.
  const limits = { requestTimeout: 0 }
  const bucketServer = await startHttpServer((req, res) => void bucket(req, res), limits)
  await network?.serve(bucketServer.server, bytesPerSecond)
  const s3 = createS3Server({
    storage: memoryStorage({ baseURL: `${bucketServer.url}/api/s3/_storage`, now }),
    bucket: 'files',
    routes: { default: { check } },
    now,
    plugins: [
      db({
        client: objects,
        now,
        resolveScope: (request) => expressRequest(request).get('x-user') ?? null,
      }),
    ],
  })

  bucket.use((req, res, next) => {
    // Allows everything, so what is missing in a request was withheld by the client.
    res.set({
      'access-control-allow-origin': req.get('origin') ?? '*',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'PUT, GET',
      'access-control-allow-headers': req.get('access-control-request-headers') ?? '',
    })
    if (req.method === 'OPTIONS') return pass('OPTIONS', res, () => void res.sendStatus(204))
    toBucket.push(req.headers)
    const part = partOf(req.path)
    if (part !== null) {
      partsSent.push(part)
      if (held.includes(part)) return
      res.on('finish', () => {
        if (res.statusCode === 200) partsStored.push(part)
      })
    }
    if (fault === 'cut before') return req.socket.destroy()
    // Never responds.
    if (fault === 'hold') return
    if (fault === 'cut after') res.end = () => res.destroy()
    return pass(req.method, res, next)
  })
  bucket.use(expressBinding(s3))

  const app = express()
  app.get('/', (_req, res) => {
    if (policyOf) res.set('content-security-policy', policyOf(bucketServer.url))
    res.cookie('session', 'secret').type('html').send(`<script type="module">${script}</script>`)
  })
  app.get('/worker.js', (_req, res) => void res.type('js').send(PASSING_WORKER))
  app.use((req, res, next) => {
    const line = `${req.method} ${req.path.replace('/api/s3', '')}`
    toAPI.push(line)
    pass(line, res, next)
  })
  app.use(expressBinding(s3))
  const appServer = await startHttpServer((req, res) => void app(req, res))
  await network?.serve(appServer.server)

  return {
    url: appServer.url,
    toBucket,
    partsStored,
    partsSent,
    toAPI,
    reject: ({ id, key }, reason) => s3.files.reject({ key, attemptId: id, reason }),
    async bytesOf(key) {
      const query = new URLSearchParams({ key }).toString()
      const headers = { 'x-user': 'ada' }
      const response = await fetch(`${appServer.url}/api/s3/download?${query}`, { headers })
      const { url } = (await response.json()) as { url: string }
      return Buffer.from(await (await fetch(url)).arrayBuffer())
    },
    hold: (parts) => (held = parts),
    usage: () => objects.getScopeUsage('ada'),
    fail: (next) => (fault = next),
    lie: (next) => (lie = next),
    stop: async () => {
      await Promise.all([appServer.stop(), bucketServer.stop()])
    },
  }
}

/** Returns the part number of a signed URL of the memory storage; `null`: not for a part. */
function partOf(path: string): number | null {
  const claims = /_storage\/([^.]*)/.exec(path)?.[1] ?? ''
  try {
    const grant = JSON.parse(Buffer.from(claims, 'base64url').toString()) as { partNumber?: number }
    return grant.partNumber ?? null
  } catch {
    return null
  }
}

/** The client, bundled once per test file. */
export const clientScript = bundleClient()

async function bundleClient(): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `
        import * as client from ${sourceOf('index')}
        import * as uploads from ${sourceOf('uploads/index')}
        Object.assign(window, { client, uploads })`,
      resolveDir: '.',
    },
    bundle: true,
    write: false,
    format: 'esm',
    tsconfigRaw: {},
  })
  return outputFiles[0]?.text ?? ''
}
