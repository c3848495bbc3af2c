import { createServer, request as requestTo, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll } from 'vitest'

/** What happens to a request on its way to the service, or to the answer on its way back. */
export type Fault =
  | 'none'
  /** It arrives nowhere, and is never answered. */
  | 'hang'
  /** The connection ends before it arrives. */
  | 'cut before'
  /** The service does what it was asked; its answer never arrives. */
  | 'cut after'
  /** The answer breaks off within its body, or, if it has none, within its headers. */
  | 'cut within'
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly delayMilliseconds: number }

/** Stands between a client and a real service, and spoils what it is reported to. */
export interface FaultProxy {
  readonly endpoint: string
  /** What happens to the requests from now on; the last goes for all that follow. */
  faults(...faults: readonly [Fault, ...Fault[]]): void
  /** What happens to each request, by its method and path. */
  faultsBy(choose: (request: string) => Fault): void
  /** Method and path of the requests since `faults` was called last. */
  readonly requests: readonly string[]
  /** Resolves when another request has arrived. */
  nextRequest(): Promise<void>
}

/** One for the tests that are being described. Its address is there when they run. */
export function faultProxyTo(endpoint: string): FaultProxy {
  let choose: (request: string) => Fault = () => 'none'
  let requests: string[] = []
  let arrived: (() => void)[] = []
  let port = 0

  const server = createServer((incoming, outgoing) => {
    const described = `${incoming.method} ${incoming.url}`
    requests.push(described)
    const fault = choose(described)
    const waiting = arrived
    arrived = []
    for (const resolve of waiting) resolve()
    void spoil(fault, incoming, outgoing, endpoint).catch(() => outgoing.destroy())
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  return {
    get endpoint() {
      return `http://127.0.0.1:${port}`
    },
    faults(...faults) {
      const plan = [...faults]
      choose = () => (plan.length > 1 ? plan.shift() : plan[0]) ?? 'none'
      requests = []
    },
    faultsBy(chooser) {
      choose = chooser
      requests = []
    },
    get requests() {
      return requests
    },
    nextRequest: () => new Promise((resolve) => arrived.push(resolve)),
  }
}

async function spoil(
  fault: Fault,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  endpoint: string,
): Promise<void> {
  if (fault === 'hang') return
  if (fault === 'cut before') {
    outgoing.destroy()
    return
  }
  if (typeof fault === 'object' && 'status' in fault) {
    incoming.resume()
    outgoing.writeHead(fault.status, fault.headers).end(fault.body)
    return
  }
  if (typeof fault === 'object') {
    await new Promise((resolve) => setTimeout(resolve, fault.delayMilliseconds))
  }
  const answer = await forward(incoming, endpoint)
  if (fault === 'cut after') {
    outgoing.destroy()
  } else if (fault === 'cut within') {
    const head = `HTTP/1.1 ${answer.status} \r\n${answer.body.length > 0 ? `content-length: ${answer.body.length}\r\n\r\n` : ''}`
    outgoing.socket?.end(Buffer.concat([Buffer.from(head), answer.body.subarray(0, answer.body.length / 2)]))
  } else {
    outgoing.writeHead(answer.status, answer.headers).end(answer.body)
  }
}

/** With all headers as they are: the name of the host is signed, too. */
function forward(
  incoming: IncomingMessage,
  endpoint: string,
): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { method, url: path, headers } = incoming
    const { hostname, port } = new URL(endpoint)
    const request = requestTo({ hostname, port, method, path, headers }, (answer) => {
      buffer(answer).then(
        (body) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }),
        reject,
      )
    })
    request.on('error', reject)
    incoming.pipe(request)
  })
}
