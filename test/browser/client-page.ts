import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { build } from 'esbuild'
import express from 'express'

const CLIENT = fileURLToPath(new URL('../../src/client/index.ts', import.meta.url))

/** What the bucket does with the next upload. */
export type BucketFault = 'none' | 'cut before' | 'cut after'

export interface ClientPage {
  /** A page that has the client’s exports at `window.client`, and sets a cookie. */
  readonly url: string
  /** Headers of all requests to the bucket, but for preflights. */
  readonly toBucket: readonly IncomingHttpHeaders[]
  usage(): Promise<object>
  fail(fault: BucketFault): void
  stop(): Promise<void>
}

/** A page with the client and its API, and a bucket at another origin, as in real life. */
export async function startClientPage(): Promise<ClientPage> {
  const script = await bundledClient()
  const objects = memoryAdapter()
  const toBucket: IncomingHttpHeaders[] = []
  let fault: BucketFault = 'none'

  const bucket = express()
  const bucketServer = await listen(createServer((req, res) => void bucket(req, res)))
  const s3 = createS3Server({
    storage: memoryStorage({ baseURL: `${originOf(bucketServer)}/api/s3/_storage` }),
    bucket: 'files',
    plugins: [
      db({ client: objects, resolveScope: (request) => expressRequest(request).get('x-user') ?? null }),
    ],
  })

  bucket.use((req, res, next) => {
    // As permissive as a bucket can be: what is not sent then, the client has kept back.
    res.set({
      'access-control-allow-origin': req.get('origin') ?? '*',
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'PUT, GET',
      'access-control-allow-headers': req.get('access-control-request-headers') ?? '',
    })
    if (req.method === 'OPTIONS') return res.sendStatus(204)
    toBucket.push(req.headers)
    if (fault === 'cut before') return req.socket.destroy()
    if (fault === 'cut after') res.end = () => res.destroy()
    return next()
  })
  bucket.use(expressBinding(s3))

  const app = express()
  app.get('/', (_req, res) => {
    res.cookie('session', 'secret').type('html').send(`<script type="module">${script}</script>`)
  })
  app.use(expressBinding(s3))
  const appServer = await listen(createServer((req, res) => void app(req, res)))

  return {
    url: originOf(appServer),
    toBucket,
    usage: () => objects.getScopeUsage('ada'),
    fail: (next) => (fault = next),
    stop: async () => {
      await Promise.all([appServer, bucketServer].map(stop))
    },
  }
}

async function bundledClient(): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import * as client from ${JSON.stringify(CLIENT)}\nwindow.client = client`,
      resolveDir: '.',
    },
    bundle: true,
    write: false,
    format: 'esm',
    tsconfigRaw: {},
  })
  return outputFiles[0]?.text ?? ''
}

async function listen(server: Server): Promise<Server> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function stop(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
