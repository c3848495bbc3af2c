import type { DbClientObject } from '@svc/db/client'
import { startClient, type ServerFixtureOptions } from '../server.js'

/** Handles a request instead of the server: returns a response or throws. */
export type Fault = (serve: () => Promise<Response>) => Promise<Response>

export const lostBefore: Fault = async () => {
  throw new TypeError('fetch failed')
}

export const lostAfter: Fault = async (serve) => {
  await serve()
  throw new TypeError('fetch failed')
}

export const respondWith =
  (status: number): Fault =>
  async () =>
    new Response('<h1>No</h1>', { status, headers: { 'content-type': 'text/html' } })

export const refuse: Fault = async () =>
  Response.json({ code: 'QUOTA_EXCEEDED', message: 'Full.' }, { status: 413 })

/** Faults of a proxy that forwards requests after the client has given up on them. */
export function bufferingProxy() {
  const late: (() => Promise<Response>)[] = []
  const holdBack: Fault = async (serve) => {
    late.push(serve)
    return lostBefore(serve)
  }
  /** Delivers what was held back, right before the request. */
  const deliver: Fault = async (serve) => {
    for (const each of late.splice(0)) await each()
    return serve()
  }
  return { holdBack, deliver }
}

/** Creates a client of a server in this process, with a network that injects faults. */
export function startUploads(options: ServerFixtureOptions = {}) {
  const log: string[] = []
  const faults: {
    readonly where: RegExp
    readonly fault: Fault
    readonly times: number
    met: number
  }[] = []
  let atOnce = 0
  let maxConcurrency = 0
  const client = startClient({
    onError: () => undefined,
    ...options,
    async before(request, serve) {
      const line = lineOf(request)
      log.push(line)
      const found = faults.find(({ where, times, met }) => where.test(line) && met < times)
      if (found) found.met += 1
      const isPut = line.startsWith('PUT') ? 1 : 0
      maxConcurrency = Math.max(maxConcurrency, (atOnce += isPut))
      try {
        return await (found ? found.fault(serve) : serve())
      } finally {
        atOnce -= isPut
      }
    },
  })
  return {
    ...client,
    /** All requests in order, such as `PUT 3` for the third part, or `POST /multipart/complete`. */
    log,
    maxConcurrency: () => maxConcurrency,
    /** Applies a fault to the next `times` requests that match. */
    inject: (where: RegExp, fault: Fault, times = Infinity) => {
      faults.push({ where, fault, times, met: 0 })
    },
    clearFaults: () => void faults.splice(0),
    count: (where: RegExp) => log.filter((line) => where.test(line)).length,
    /** Downloads the bytes of an object. */
    async bytesOf({ key }: DbClientObject) {
      const { url } = await client.api.download({ key })
      return new Uint8Array(await (await client.fetch(url)).arrayBuffer())
    },
  }
}

function lineOf({ method, url }: Request): string {
  const path = new URL(url).pathname.replace(/^\/api\/s3/, '')
  const segment = /^\/_storage\/([^.]*)/.exec(path)?.[1]
  if (segment === undefined) return `${method} ${path}`
  const { partNumber } = JSON.parse(Buffer.from(segment, 'base64url').toString()) as { partNumber?: number }
  return `${method} ${partNumber ?? '_storage'}`
}
