import type { DbClientObject } from '@svc/db/client'
import { startClient, type ServerFixtureOptions } from '../server.js'

/** What happens to a request: an answer, or an exception in the place of one. */
export type Trouble = (serve: () => Promise<Response>) => Promise<Response>

export const lostBefore: Trouble = async () => {
  throw new TypeError('fetch failed')
}

export const lostAfter: Trouble = async (serve) => {
  await serve()
  throw new TypeError('fetch failed')
}

export const answering =
  (status: number): Trouble =>
  async () =>
    new Response('<h1>No</h1>', { status, headers: { 'content-type': 'text/html' } })

/** A client of a server in this process, with a network that makes trouble on demand. */
export function startUploads(options: ServerFixtureOptions = {}) {
  const log: string[] = []
  const troubles: {
    readonly where: RegExp
    readonly trouble: Trouble
    readonly times: number
    met: number
  }[] = []
  let atOnce = 0
  let mostAtOnce = 0
  let gettingThrough = 0
  const client = startClient({
    onError: () => undefined,
    ...options,
    async before(request, serve) {
      const line = lineOf(request)
      log.push(line)
      const found = troubles.find(({ where, times, met }) => where.test(line) && met < times)
      if (found) found.met += 1
      const isPut = line.startsWith('PUT') ? 1 : 0
      mostAtOnce = Math.max(mostAtOnce, (atOnce += isPut))
      gettingThrough += found ? 0 : isPut
      try {
        return await (found ? found.trouble(serve) : serve())
      } finally {
        atOnce -= isPut
        gettingThrough -= found ? 0 : isPut
      }
    },
  })
  return {
    ...client,
    /** Every request in turn, such as `PUT 3` for the third part, or `POST /multipart/complete`. */
    log,
    mostAtOnce: () => mostAtOnce,
    /** Resolves when no part is on its way that meets no trouble. */
    async othersAreThrough() {
      do await new Promise((resolve) => setImmediate(resolve))
      while (gettingThrough > 0)
    },
    /** Requests to that line meet this trouble, so many times. */
    trouble: (where: RegExp, trouble: Trouble, times = Infinity) => {
      troubles.push({ where, trouble, times, met: 0 })
    },
    calm: () => void troubles.splice(0),
    count: (where: RegExp) => log.filter((line) => where.test(line)).length,
    /** The bytes of an object. */
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
