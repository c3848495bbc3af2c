import { once } from 'node:events'
import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { honoBinding } from '@svc/db/hono'
import { memoryAdapter } from '@svc/db/memory'
import { everyFramework } from './frameworks.js'
import { listen } from './listening.js'
import { RawConnection } from './raw-connection.js'

const MIB = 1024 ** 2

function newServer() {
  const resolveScope = ({ headers }: Request) => headers.get('x-scope')
  const plugins = [db({ client: memoryAdapter(), resolveScope })] as const
  return createS3Server({ storage: memoryStorage(), bucket: 'files', plugins })
}

const senders = {
  /** 16 KiB each 20 ms. */
  async slowly({ socket }: RawConnection) {
    const chunk = Buffer.alloc(16 * 1024)
    for (let sent = 0; sent < 3 * MIB && !socket.closed; sent += chunk.length) {
      socket.write(chunk)
      await sleep(20)
    }
  },
  async quickly({ socket }: RawConnection) {
    const chunk = Buffer.alloc(MIB / 4)
    for (let sent = 0; sent < 64 * MIB && !socket.closed; sent += chunk.length) {
      await new Promise<void>((resolve) => socket.write(chunk, () => resolve()))
    }
  },
}

describe.each(everyFramework)('a refused body in $name', ({ app: newApp }) => {
  it.each([
    ['to an unknown path', '/nowhere', 404, 'slowly'],
    ['to an unknown path', '/nowhere', 404, 'quickly'],
    ['of JSON', '/upload', 400, 'slowly'],
    ['of JSON', '/upload', 400, 'quickly'],
  ] as const)('%s (%s, %d) is read no further than 1 MiB if it comes %s', async (_, path, status, pace) => {
    const { server, port } = await newApp().bind(newServer()).listen()
    const accepted = once(server, 'connection')
    const connection = await RawConnection.open(port)
    const [socket] = (await accepted) as [Socket]
    connection.send(
      `POST /api/s3${path} HTTP/1.1\r\nHost: a\r\nX-Scope: user:1\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${900 * MIB}\r\n\r\n${'x'.repeat(100_000)}`,
    )
    expect((await connection.response()).status).toBe(status)

    await senders[pace](connection)

    // What the connection has already buffered is read as well.
    expect(socket.bytesRead / MIB).toBeLessThan(2)
    expect(socket.destroyed).toBe(true)
  })
})

describe('a refused body from Readable.toWeb', () => {
  const s3 = newServer()
  const hono = new Hono().use(honoBinding(s3))
  const served = { 'the Hono binding': hono.fetch, 's3.handler': s3.handler }

  function requestOf(message: IncomingMessage): Request {
    const { method = '', url = '', headers } = message
    const body = Readable.toWeb(message)
    const init = { method, headers: headers as Record<string, string>, body, duplex: 'half' }
    return new Request(`http://${headers.host}${url}`, init as unknown as RequestInit)
  }

  const listenerOf =
    (respond: (request: Request) => Response | Promise<Response>): RequestListener =>
    (message, response) => {
      void Promise.resolve(respond(requestOf(message))).then(async (result) => {
        const body = Buffer.from(await result.arrayBuffer())
        response.writeHead(result.status, { 'content-length': body.length }).end(body)
      })
    }

  it.each(Object.entries(served))('causes no uncaught error in %s', async (_name, respond) => {
    const uncaught: unknown[] = []
    const see = (error: unknown) => void uncaught.push(error)
    process.on('uncaughtException', see)
    onTestFinished(() => void process.off('uncaughtException', see))
    const { port } = await listen(listenerOf(respond))
    const head =
      'POST /api/s3/upload HTTP/1.1\r\nHost: a\r\nX-Scope: user:1\r\nContent-Type: application/json\r\n'
    for (const size of [70_000, 200_000, 900_000, 3_000_000]) {
      const body = 'x'.repeat(size)
      for (const rest of [
        `Content-Length: ${size}\r\n\r\n${body}`,
        `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      ]) {
        const connection = (await RawConnection.open(port)).send(head + rest)
        const refused = { status: 400, body: expect.stringContaining('at most 65536 bytes') as string }
        expect([size, await connection.response()]).toMatchObject([size, refused])
        // An error would come once the rest is discarded.
        await sleep(50)
        connection.socket.destroy()
      }
    }
    expect(uncaught).toEqual([])
  })
})
