import connect from 'connect'
import { fastify } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { describe, expect, it } from 'vitest'
import { expressBinding, type ExpressHandler } from '@svc/db/express'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { describeMounts, mountedPaths, type Mount } from '../bindings/mounting-table.js'

type App = ReturnType<typeof connect>

const mounts: readonly Mount<App, ExpressHandler>[] = [
  { how: 'app.use(b)', mount: (app, b) => app.use(b), paths: mountedPaths.root },
  { how: "app.use('/api/s3', b)", mount: (app, b) => app.use('/api/s3', b), paths: mountedPaths.base },
  { how: "app.use('/v1', b)", mount: (app, b) => app.use('/v1', b), paths: mountedPaths.prefix },
  {
    how: 'an application in an application',
    mount: (app, b) => app.use('/v1', connect().use(b)),
    paths: mountedPaths.prefix,
  },
]

describe('expressBinding in Connect', () => {
  describeMounts(mounts, ({ mount }) => {
    const app = connect()
    mount(app, expressBinding(echo))
    return listen(
      app.use((_req, res) => {
        res.statusCode = 404
        res.end('the next handler')
      }),
    )
  })
})

it('expressBinding runs in a plain server of Node.js', async () => {
  const binding = expressBinding(echo)
  const { url } = await listen((req, res) => binding(req, res, () => void res.writeHead(404).end()))

  expect(await echoOf(await fetch(`${url}/api/s3/x?limit=1`))).toMatchObject({
    ...{ url: `${url}/api/s3/x?limit=1`, basePath: '/api/s3' },
  })
  expect((await fetch(`${url}/other`)).status).toBe(404)
})

it('expressBinding names the right binding in a framework that has another one', async () => {
  const binding = expressBinding(echo) as never
  const messages: string[] = []
  const record = (error: unknown) => void messages.push(String(error))

  const koa = new Koa().use(binding).on('error', record)
  const koaServer = await listen((req, res) => void koa.callback()(req, res))
  await fetch(`${koaServer.url}/api/s3/x`)
  const hono = new Hono().use(binding)
  hono.onError((error, c) => {
    record(error)
    return c.text('', 500)
  })
  await hono.request('/api/s3/x')
  const hooked = fastify()
  hooked.addHook('onRequest', binding)
  hooked.setErrorHandler((error, _request, reply) => {
    record(error)
    void reply.send()
  })
  await hooked.inject('/api/s3/x')

  expect(messages).toHaveLength(3)
  for (const message of messages) expect(message).toMatch(/^TypeError: expressBinding .* fastifyBinding/)
})
