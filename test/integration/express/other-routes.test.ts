import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { expressBinding } from '@svc/db/express'
import { echo } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { versions } from './versions.js'

describe.each(versions)('requests outside the library, in $name', ({ express }) => {
  it('get the application’s 404 response', async () => {
    const { url } = await listen(express().use(expressBinding(echo)))
    const response = await fetch(`${url}/missing`)
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('Cannot GET /missing')
  })

  it('get the application’s errors', async () => {
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

  it('stream bodies in both directions', async () => {
    const app = express().use(expressBinding(echo))
    app.put('/mirror', async (req, res) => {
      res.set('x-length', req.get('content-length') ?? 'unknown')
      await pipeline(req, res)
    })
    const { url } = await listen(app)
    const chunks = Array.from({ length: 50 }, (_, i) => Buffer.alloc(10_000, i))
    const body = Readable.toWeb(Readable.from(chunks))

    const response = await fetch(`${url}/mirror`, {
      method: 'PUT',
      body,
      duplex: 'half',
    } as unknown as RequestInit)

    expect(response.headers.get('x-length')).toBe('unknown')
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(chunks))).toBe(true)
  })

  it('are handled in the order of the routes', async () => {
    const app = express()
    app.get('/api/s3/health', (_req, res) => void res.send('of the application'))
    app.use(expressBinding(echo))
    app.get('/api/s3/never', (_req, res) => void res.send('never'))
    const { url } = await listen(app)
    expect(await (await fetch(`${url}/api/s3/health`)).text()).toBe('of the application')
    expect(await (await fetch(`${url}/api/s3/never`)).text()).toContain('"method":"GET"')
  })

  it('can be served by a second library under another path', async () => {
    const files = expressBinding({ ...echo, basePath: '/files' })
    const { url } = await listen(express().use(expressBinding(echo), files))
    expect(await (await fetch(`${url}/files/db/objects`)).json()).toMatchObject({ basePath: '/files' })
    expect(await (await fetch(`${url}/api/s3/db/objects`)).json()).toMatchObject({ basePath: '/api/s3' })
  })
})
