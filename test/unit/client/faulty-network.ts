import { request as sendRequest, type IncomingMessage } from 'node:http'
import { createS3Client, dbClient } from '@svc/db/client'
import { expressBinding } from '@svc/db/express'
import express from 'express'
import { startHttpServer } from '../../servers/http-server.js'
import { startServer, type ServerFixtureOptions } from './server.js'

export interface ProxyResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer | string
}

/** Handles a request: resolves to a response, or to `null` to close the connection. `forward` sends it to the server. */
export type Fault = (forward: () => Promise<ProxyResponse>) => Promise<ProxyResponse | null>

/** Closes the connection before the server gets the request. */
export const cutBefore: Fault = async () => null

/** Closes the connection after the server has handled the request. The response is lost. */
export const cutAfter: Fault = async (forward) => {
  await forward()
  return null
}

/** Responds with an HTML page instead of the server. */
export function page(status: number): Fault {
  return async () => ({ status, headers: { 'content-type': 'text/html' }, body: '<h1>Try again later</h1>' })
}

/** Delays a fault until `release`. `reached` resolves once a request waits. */
export function holding(fault: Fault): { fault: Fault; reached: Promise<void>; release: () => void } {
  const reached = new Signal()
  const released = new Signal()
  return {
    fault: async (forward) => {
      const response = await fault(forward)
      reached.resolve()
      await released.promise
      return response
    },
    reached: reached.promise,
    release: released.resolve,
  }
}

class Signal {
  resolve = (): void => undefined
  readonly promise = new Promise<void>((resolve) => (this.resolve = resolve))
}

/** Starts a server behind a proxy that injects faults, and creates a client of the proxy. */
export async function startFaultyNetwork(options: ServerFixtureOptions = {}) {
  const { server, objects } = startServer(options)
  const app = express().use(expressBinding(server))
  const origin = await startHttpServer((req, res) => void app(req, res))
  const faults: { readonly where: RegExp; readonly fault: Fault }[] = []
  const log: string[] = []

  const proxy = await startHttpServer((req, res) => {
    const line = `${req.method} ${req.url?.replace(/_storage.*/, '_storage')}`
    log.push(line)
    const at = faults.findIndex(({ where }) => where.test(line))
    const fault: Fault = at < 0 ? (forward) => forward() : (faults.splice(at, 1)[0]?.fault ?? cutBefore)
    fault(() => forwardTo(origin.url, req)).then(
      (response) => {
        if (!response) return req.socket.destroy()
        return res.writeHead(response.status, response.headers).end(response.body)
      },
      () => req.socket.destroy(),
    )
  })

  const { api } = createS3Client({
    baseURL: proxy.url,
    plugins: [dbClient()],
    headers: { 'x-user': 'ada' },
  })
  return {
    api,
    objects,
    /** All requests to the proxy, such as `POST /api/s3/upload`. */
    log,
    /** Applies each fault once, in order, to the next requests that match. */
    next(where: RegExp, ...added: readonly Fault[]) {
      faults.push(...added.map((fault) => ({ where, fault })))
    },
    async close() {
      await Promise.all([proxy.stop(), origin.stop()])
    },
  }
}

function forwardTo(origin: string, req: IncomingMessage): Promise<ProxyResponse> {
  return new Promise((resolve, reject) => {
    const { method, url: path, headers } = req
    const forwarded = sendRequest(origin, { method, path, headers }, (res) => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) })
      })
      res.on('error', reject)
    })
    forwarded.on('error', reject)
    req.socket.on('close', () => forwarded.destroy())
    req.pipe(forwarded)
  })
}
