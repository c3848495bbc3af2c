import { createServer, request as sendRequest, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createS3Client, dbClient } from '@svc/db/client'
import { expressBinding } from '@svc/db/express'
import express from 'express'
import { startServer, type ServerFixtureOptions } from './server.js'

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Buffer | string
}

/** What a network does with a request: an answer, or `null` for a connection that is cut. `forward` has the server act. */
export type Fault = (forward: () => Promise<Answer>) => Promise<Answer | null>

/** The server never hears of the request. */
export const cutBefore: Fault = async () => null

/** The server acts, and its answer is lost. */
export const cutAfter: Fault = async (forward) => {
  await forward()
  return null
}

/** A page in place of the server's answer. */
export function page(status: number): Fault {
  return async () => ({ status, headers: { 'content-type': 'text/html' }, body: '<h1>Try again later</h1>' })
}

/** A fault that waits. `reached` resolves once a request has come that far. */
export function holding(fault: Fault): { fault: Fault; reached: Promise<void>; release: () => void } {
  const reached = new Moment()
  const released = new Moment()
  return {
    fault: async (forward) => {
      const answer = await fault(forward)
      reached.come()
      await released.promise
      return answer
    },
    reached: reached.promise,
    release: released.come,
  }
}

class Moment {
  come = (): void => undefined
  readonly promise = new Promise<void>((resolve) => (this.come = resolve))
}

/** A real server behind a real proxy that breaks connections on demand, and a client of the proxy. */
export async function startFaultyNetwork(options: ServerFixtureOptions = {}) {
  const { server, objects } = startServer(options)
  const app = express().use(expressBinding(server))
  const origin = await listen(createServer((req, res) => void app(req, res)))
  const faults: { readonly where: RegExp; readonly fault: Fault }[] = []
  const log: string[] = []

  const proxy = await listen(
    createServer((req, res) => {
      const line = `${req.method} ${req.url?.replace(/_storage.*/, '_storage')}`
      log.push(line)
      const at = faults.findIndex(({ where }) => where.test(line))
      const fault: Fault = at < 0 ? (forward) => forward() : (faults.splice(at, 1)[0]?.fault ?? cutBefore)
      fault(() => forwardTo(origin.port, req)).then(
        (answer) => {
          if (!answer) return req.socket.destroy()
          return res.writeHead(answer.status, answer.headers).end(answer.body)
        },
        () => req.socket.destroy(),
      )
    }),
  )

  const { api } = createS3Client({
    baseURL: `http://127.0.0.1:${proxy.port}`,
    plugins: [dbClient()],
    headers: { 'x-user': 'ada' },
  })
  return {
    api,
    objects,
    /** Every request that has come to the proxy, such as `POST /api/s3/upload`. */
    log,
    /** The next request to that line meets this fault; several wait in turn. */
    next(where: RegExp, ...more: readonly Fault[]) {
      faults.push(...more.map((fault) => ({ where, fault })))
    },
    async close() {
      await Promise.all([proxy.close(), origin.close()])
    },
  }
}

function forwardTo(port: number, req: IncomingMessage): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method, url: path, headers } = req
    const forwarded = sendRequest({ host: '127.0.0.1', port, method, path, headers }, (res) => {
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

async function listen(server: Server): Promise<{ port: number; close: () => Promise<void> }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
