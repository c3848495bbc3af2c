import type { IncomingMessage } from 'node:http'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { describe, expect, it } from 'vitest'
import { deferred, until } from './deferred.js'
import { everyFramework } from './frameworks.js'
import { listen } from './listening.js'
import { RawConnection } from './raw-connection.js'

/** A server that tells when it begins to serve the operation, and what it reports. */
function newServer(operation: string) {
  const begun = deferred()
  const reported: { operation: string; cause: unknown; message: string }[] = []
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: () => 'user:1' })],
    onOperation: async (context, run) => {
      if (context.operation === operation) begun.resolve()
      await run()
    },
    onError: (error, context) => {
      const { cause, message } = error as Error
      reported.push({ operation: context.operation, cause, message })
    },
  })
  return { s3, begun: begun.promise, reported }
}

const json = { 'content-type': 'application/json' }

describe.each(everyFramework)('a request that outlasts `requestTimeout`, in $name', ({ app: newApp }) => {
  it.each(['upload', 'storage'])('is reported with the reason (%s)', async (operation) => {
    const { s3, begun, reported } = newServer(operation)
    const { server: inner } = await newApp().bind(s3).listen()
    const requests: IncomingMessage[] = []
    const { server, port, url } = await listen(
      (req, res) => {
        requests.push(req)
        inner.emit('request', req, res)
      },
      { requestTimeout: 0, connectionsCheckingInterval: 10 },
    )
    const body = JSON.stringify({ filename: 'a.txt', contentType: 'text/plain', size: 10 })
    const response = await fetch(`${url}/api/s3/upload`, { method: 'POST', headers: json, body })
    const { upload } = (await response.json()) as { upload: { url: string; headers: Record<string, string> } }
    const [line, headers] =
      operation === 'upload'
        ? ['POST /api/s3/upload', json]
        : [`PUT ${upload.url.replace(url, '')}`, upload.headers]
    const connection = await RawConnection.open(port)
    const fields = Object.entries({ host: 'a', ...headers, 'content-length': '10' })
    connection.send(`${line} HTTP/1.1\r\n${fields.map((field) => field.join(': ')).join('\r\n')}\r\n\r\n{"a`)
    await begun
    // A request that ends before anybody reads its body is one whose client has left.
    await until(() => ['readable', 'data'].some((event) => requests.at(-1)!.listenerCount(event) > 0))

    server.requestTimeout = 1

    expect(await connection.rest()).toMatch(/^HTTP\/1.1 408 /)
    await until(() => reported.length > 0)
    expect(reported).toMatchObject([{ operation, cause: { code: 'ERR_HTTP_REQUEST_TIMEOUT' } }])
  })
})
