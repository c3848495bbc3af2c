import type { ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import type { Handler } from '@svc/db'
import { expressBinding } from '@svc/db/express'
import { listen } from '../bindings/listening.js'
import { occurrence, until } from '../bindings/occurrence.js'
import { RawConnection } from '../bindings/raw-connection.js'
import { failingBody } from '../bindings/response-bodies.js'
import { versions } from './versions.js'

const basePath = '/api/s3'

describe.each(versions)('what is unexpected in $name', ({ express }) => {
  async function serve(handler: Handler) {
    const errors: unknown[] = []
    const app = express().use(expressBinding({ basePath, handler }))
    const report: ErrorRequestHandler = (error, _req, res, next) => {
      errors.push(error)
      if (res.headersSent) return next(error)
      res.status(500).send('by the application')
    }
    return { errors, ...(await listen(app.use(report))) }
  }
  it.each([[new Error('broken')], [undefined], ['route'], ['router'], [null]])(
    'a handler that rejects with %s',
    async (reason) => {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what isn't an Error is the case here
      const { url, errors } = await serve(() => Promise.reject(reason))
      const response = await fetch(`${url}/api/s3/x`)
      expect(response.status).toBe(500)
      expect(await response.text()).toBe('by the application')
      expect(errors).toEqual([reason instanceof Error ? reason : expect.objectContaining({ cause: reason })])
    },
  )

  it.each([[[]], [['first']]])('a body that fails after %j, before anything is sent', async (pieces) => {
    const broken = new Error('broken')
    const { url, errors } = await serve(
      async () => new Response(failingBody(broken, ...pieces), { status: 201 }),
    )
    const response = await fetch(`${url}/api/s3/x`)
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('by the application')
    expect(errors).toEqual([broken])
  })

  it('a body that fails later cuts the connection, and nothing else', async () => {
    const broken = new Error('broken')
    const { url, port, errors } = await serve(async ({ url }) =>
      url.endsWith('/whole')
        ? Response.json('whole')
        : new Response(failingBody(broken, 'first', 'second', 'third')),
    )
    const connection = await RawConnection.open(port)

    const answer = await connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n').rest()

    expect(answer).not.toMatch(/\r\n0\r\n\r\n$/)
    await until(() => errors.length === 1)
    expect(errors).toEqual([broken])
    expect(await (await fetch(`${url}/api/s3/whole`)).json()).toBe('whole')
  })

  it('cuts the connection even if the application does nothing about the error', async () => {
    const told = occurrence<unknown>()
    const broken = new Error('broken')
    const handler: Handler = async () => new Response(failingBody(broken, 'first', 'second', 'third'))
    const ignore: ErrorRequestHandler = (error, _req, _res, _next) => told.happen(error)
    const { port } = await listen(express().use(expressBinding({ basePath, handler })).use(ignore))
    const connection = await RawConnection.open(port)

    await connection.send('GET /api/s3/x HTTP/1.1\r\nHost: a\r\n\r\n').rest()

    expect(await told.happened).toBe(broken)
  })
})
