import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { deferred } from './deferred.js'
import { RawConnection } from './raw-connection.js'
import { bytes, unfinishedBody } from './response-bodies.js'
import { frameworks } from './frameworks.js'

const get = 'GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n'

function respondWithTimeout(response: ServerResponse): void {
  response.statusCode = 200
  response.end('timed out')
}

describe.each(frameworks)('a response that another handler has sent, in $name', ({ app: newApp }) => {
  /** Also passes the response to the test, which responds like a timeout middleware. */
  async function serve(handler: (response: ServerResponse) => Promise<Response>) {
    const responses: ServerResponse[] = []
    const app = newApp().use((_req, res, next) => {
      responses.push(res)
      next()
    })
    const bound: Handler = () => handler(responses.at(-1)!)
    app.bind({ basePath: '/api/s3', handler: bound })
    const { port } = await app.listen()
    return { errors: app.errors, connection: await RawConnection.open(port) }
  }

  it('before the library: ignores a response without a body', async () => {
    const { errors, connection } = await serve(async (response) => {
      respondWithTimeout(response)
      return new Response(null, { status: 204, headers: { 'x-late': '1' } })
    })
    for (let i = 0; i < 2; i++) {
      expect(await connection.send(get).response()).toMatchObject({ status: 200, body: 'timed out' })
    }
    expect(errors).toEqual([])
  })

  it('with its headers only: ignores the response of the library', async () => {
    const { body, cancelled } = unfinishedBody('a', 'b', 'c')
    const { errors, connection } = await serve(async (response) => {
      response.writeHead(200, { 'content-length': '4' })
      response.flushHeaders()
      void cancelled.then(() => response.end('mine'))
      return new Response(body)
    })
    expect(await connection.send(get).response()).toMatchObject({ status: 200, body: 'mine' })
    expect(errors).toEqual([])
  })

  it('while the body is sent: cancels the rest of the body', async () => {
    const cancelled = deferred<unknown>()
    const { errors, connection } = await serve(async (response) => {
      let given = 0
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          await nextTurn()
          controller.enqueue(bytes(`chunk ${++given}\n`))
          if (given === 5) response.end('timed out')
        },
        cancel: cancelled.resolve,
      })
      return new Response(body)
    })
    connection.send(get)

    await cancelled.promise
    connection.socket.end()

    expect(await connection.rest()).toMatch(/chunk 4[^]*timed out\r\n0\r\n\r\n$/)
    expect(errors).toEqual([])
  })

  it('and that is over: cancels a body that never yields', async () => {
    const { body, cancelled } = unfinishedBody()
    const { errors, connection } = await serve(async (response) => {
      respondWithTimeout(response)
      await once(response, 'close')
      return new Response(body)
    })
    expect(await connection.send(get).response()).toMatchObject({ status: 200, body: 'timed out' })
    await cancelled
    expect(errors).toEqual([])
  })
})
