import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { occurrence } from './occurrence.js'
import { RawConnection } from './raw-connection.js'
import { bytes, unfinishedBody } from './response-bodies.js'
import { frameworks } from './frameworks.js'

const get = 'GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n'

function answerTimeout(response: ServerResponse): void {
  response.statusCode = 200
  response.end('timed out')
}

describe.each(frameworks)('where another handler has answered, in $name', ({ app: newApp }) => {
  /** Gives the response to the test as well, as a middleware for timeouts has it. */
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

  it('before the library, its response is let go of', async () => {
    const { body, cancelled } = unfinishedBody('a', 'b', 'c')
    const { errors, connection } = await serve(async (response) => {
      answerTimeout(response)
      return new Response(body)
    })

    expect(await connection.send(get).response()).toMatchObject({ status: 200, body: 'timed out' })

    await cancelled
    expect(errors).toEqual([])
  })

  it('before the library, its response without a body is left out', async () => {
    const { errors, connection } = await serve(async (response) => {
      answerTimeout(response)
      return new Response(null, { status: 204, headers: { 'x-late': '1' } })
    })
    for (let i = 0; i < 2; i++) {
      expect(await connection.send(get).response()).toMatchObject({ status: 200, body: 'timed out' })
    }
    expect(errors).toEqual([])
  })

  it('with its head only, the response of the library is left out', async () => {
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

  it('while the body goes out, the rest of it is let go of', async () => {
    const cancelled = occurrence<unknown>()
    const { errors, connection } = await serve(async (response) => {
      let given = 0
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          await nextTurn()
          controller.enqueue(bytes(`piece ${++given}\n`))
          if (given === 5) response.end('timed out')
        },
        cancel: cancelled.happen,
      })
      return new Response(body)
    })
    connection.send(get)

    await cancelled.happened
    connection.socket.end()

    expect(await connection.rest()).toMatch(/piece 4[^]*timed out\r\n0\r\n\r\n$/)
    expect(errors).toEqual([])
  })

  it('and the response is over, a body that gives nothing is let go of', async () => {
    const { body, cancelled } = unfinishedBody()
    const { errors, connection } = await serve(async (response) => {
      answerTimeout(response)
      await once(response, 'close')
      return new Response(body)
    })
    expect(await connection.send(get).response()).toMatchObject({ status: 200, body: 'timed out' })
    await cancelled
    expect(errors).toEqual([])
  })
})
