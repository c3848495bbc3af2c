import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { echo } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { versions } from './versions.js'

describe.each(versions)('what is not the library’s, in $name', ({ express }) => {
  it('gets the answer of the application that there is nothing', async () => {
    const { url } = await listen(express().use(expressBinding(echo)))
    const response = await fetch(`${url}/missing`)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Cannot GET /missing')
  })

  it('gets the errors of the application', async () => {
    const report: ErrorRequestHandler = (error: Error, _req, res, _next) =>
      void res.status(418).send(error.message)
    const app = express()
      .use(expressBinding(echo))
      .use(() => {
        throw new Error('of the application')
      })
      .use(report)
    const { url } = await listen(app)
    const response = await fetch(`${url}/missing`)
    expect([response.status, await response.text()]).toEqual([418, 'of the application'])
  })

  it('streams its bodies in both directions', async () => {
    const app = express().use(expressBinding(echo))
    app.put('/mirror', async (req, res) => {
      res.set('x-length', req.get('content-length') ?? 'unknown')
      await pipeline(req, res)
    })
    const { url } = await listen(app)
    const pieces = Array.from({ length: 50 }, (_, i) => Buffer.alloc(10_000, i))
    const body = Readable.toWeb(Readable.from(pieces))

    const response = await fetch(`${url}/mirror`, {
      method: 'PUT',
      body,
      duplex: 'half',
    } as unknown as RequestInit)

    expect(response.headers.get('x-length')).toBe('unknown')
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(pieces))).toBe(true)
  })

  it('answers in the order of its routes', async () => {
    const app = express()
    app.get('/api/s3/health', (_req, res) => void res.send('of the application'))
    app.use(expressBinding(echo))
    app.get('/api/s3/never', (_req, res) => void res.send('never'))
    const { url } = await listen(app)
    expect(await (await fetch(`${url}/api/s3/health`)).text()).toBe('of the application')
    expect(await (await fetch(`${url}/api/s3/never`)).text()).toContain('"method":"GET"')
  })

  it('may be a second library under another path', async () => {
    const files = expressBinding({ ...echo, basePath: '/files' })
    const { url } = await listen(express().use(expressBinding(echo), files))
    expect(await (await fetch(`${url}/files/db/objects`)).json()).toMatchObject({ basePath: '/files' })
    expect(await (await fetch(`${url}/api/s3/db/objects`)).json()).toMatchObject({ basePath: '/api/s3' })
  })
})
