import { createServer, request as requestTo, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll } from 'vitest'

/** A fault for a request to the service, or for its response. */
export type Fault =
  | 'none'
  /** The request is dropped, without a response. */
  | 'hang'
  /** The connection closes before the request is forwarded. */
  | 'cut before'
  /** The service processes the request, but the response is lost. */
  | 'cut after'
  /** The response breaks off within its body, or, if it has none, within its headers. */
  | 'cut within'
  | CannedResponse
  /** The service processes the request, but this is the response. */
  | { readonly instead: CannedResponse }
  /** The request is forwarded once the promise resolves. */
  | { readonly until: Promise<unknown> }

interface CannedResponse {
  readonly status: number
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

type ChooseFault = (request: string, headers: IncomingMessage['headers']) => Fault

/** A proxy to a real service that injects faults. */
export interface FaultProxy {
  readonly endpoint: string
  /** Sets the faults of the next requests. The last one applies to all further requests. */
  faults(...faults: readonly [Fault, ...Fault[]]): void
  /** Chooses the fault of each request by its method and path, and its headers. */
  faultsBy(choose: ChooseFault): void
  /** Method and path of each request since the last call of `faults` or `faultsBy`. */
  readonly requests: readonly string[]
  /** Resolves when the next request arrives. */
  nextRequest(): Promise<void>
}

/** Starts a proxy for the tests of this block. Its endpoint is known once they run. */
export function faultProxyTo(endpoint: string): FaultProxy {
  let choose: ChooseFault = () => 'none'
  let requests: string[] = []
  let arrived: (() => void)[] = []
  let port = 0

  const server = createServer({ keepAliveTimeout: 0 }, (incoming, outgoing) => {
    const described = `${incoming.method} ${incoming.url}`
    requests.push(described)
    const fault = choose(described, incoming.headers)
    const waiting = arrived
    arrived = []
    for (const resolve of waiting) resolve()
    void inject(fault, incoming, outgoing, endpoint).catch(() => outgoing.destroy())
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

async function inject(
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
  if (typeof fault === 'object' && 'until' in fault) await fault.until
  const response = await forward(incoming, endpoint)
  if (typeof fault === 'object' && 'instead' in fault) {
    const { status, headers, body } = fault.instead
    outgoing.writeHead(status, headers).end(body)
    return
  }
  if (fault === 'cut after') {
    outgoing.destroy()
  } else if (fault === 'cut within') {
    const head = `HTTP/1.1 ${response.status} \r\n${response.body.length > 0 ? `content-length: ${response.body.length}\r\n\r\n` : ''}`
    outgoing.socket?.end(
      Buffer.concat([Buffer.from(head), response.body.subarray(0, response.body.length / 2)]),
    )
  } else {
    outgoing.writeHead(response.status, response.headers).end(response.body)
  }
}

/** Forwards the request with its original headers, because the host is part of the signature. */
function forward(
  incoming: IncomingMessage,
  endpoint: string,
): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> {
  return new Promise((resolve, reject) => {
    const { method, url: path, headers } = incoming
    const { hostname, port } = new URL(endpoint)
    const request = requestTo({ hostname, port, method, path, headers }, (response) => {
      buffer(response).then(
        (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
        reject,
      )
    })
    request.on('error', reject)
    incoming.pipe(request)
  })
}
