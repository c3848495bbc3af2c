import express, { type ErrorRequestHandler } from 'express'
import { describe, expect, it } from 'vitest'
import { expressBinding, type ExpressHandler } from '@svc/db/express'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { describeMounts, mountedPaths, type Mount } from '../bindings/mounting-table.js'
import { versions, type App, type ExpressVersion } from './versions.js'

const mounts: readonly Mount<App, ExpressHandler>[] = [
  { how: 'app.use(b)', mount: (app, b) => app.use(b), paths: mountedPaths.root },
  { how: "app.use('/api/s3', b)", mount: (app, b) => app.use('/api/s3', b), paths: mountedPaths.base },
  {
    how: "app.use('/api/s3/', b)",
    mount: (app, b) => app.use('/api/s3/', b),
    paths: { '/api/s3/db/objects': '/api/s3', '/api/s3': '/api/s3', '/api/s3/': '/api/s3' },
  },
  { how: "app.use('/v1', b)", mount: (app, b) => app.use('/v1', b), paths: mountedPaths.prefix },
  {
    how: 'a path with a parameter',
    mount: (app, b) => app.use('/:tenant', b),
    paths: {
      '/acme/api/s3/db': '/acme/api/s3',
      '/%C3%A9/api/s3/db': '/%C3%A9/api/s3',
      '/a%20b/api/s3/db': '/a%20b/api/s3',
    },
  },
  {
    how: 'nested routers that form the base path together',
    mount: (app, b) => app.use('/v1', express.Router().use('/api', express.Router().use('/s3', b))),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v1/api/s3': '/v1/api/s3', '/v1/api/db': null },
  },
  {
    how: 'nested routers above the base path',
    mount: (app, b) => app.use('/a', express.Router().use('/b', express.Router().use(b))),
    paths: { '/a/b/api/s3/db': '/a/b/api/s3', '/a/b': null },
  },
  {
    how: 'a route',
    mount: (app, b) => app.all('/api/s3/*rest', b),
    paths: { '/api/s3/db/objects': '/api/s3', '/api': null },
  },
  {
    how: 'a route of a router',
    mount: (app, b) => app.use('/v1', express.Router().all('/api/s3/*rest', b)),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v1/api': null },
  },
]

/** Express takes everything that a pattern has matched for the mount path. */
function patterns({ express, rest }: ExpressVersion): readonly Mount<App, ExpressHandler>[] {
  const any = rest === '*' ? '*' : '/{*all}'
  const below = { '/api/s3/db/objects': '/api/s3', '/api/s3/x?limit=1': '/api/s3', '/api/s3x/db': null }
  const belowV1 = { '/v1/api/s3/db': '/v1/api/s3', '/v1/api/s3/x?limit=1': '/v1/api/s3', '/v1/db': null }
  const atV1 = { ...belowV1, '/api/s3/db': null, '/v1/x/api/s3/db': null }
  return [
    { how: `'/api/s3/${rest}'`, mount: (app, b) => app.use(`/api/s3/${rest}`, b), paths: below },
    { how: `'${any}'`, mount: (app, b) => app.use(any, b), paths: mountedPaths.root },
    { how: `'/v1/${rest}'`, mount: (app, b) => app.use(`/v1/${rest}`, b), paths: atV1 },
    {
      how: `'/:tenant/${rest}'`,
      mount: (app, b) => app.use(`/:tenant/${rest}`, b),
      paths: { ...belowV1, '/a%20b/api/s3/x': '/a%20b/api/s3' },
    },
    {
      how: `'${any}' in a router`,
      mount: (app, b) => app.use('/v1', express.Router().use(any, b)),
      paths: atV1,
    },
    { how: 'a RegExp', mount: (app, b) => app.use(/^\/api\/.*/, b), paths: { ...below, '/api/x': null } },
    { how: 'a RegExp with a group', mount: (app, b) => app.use(/^\/v\d\/(.*)/, b), paths: atV1 },
  ]
}

describe.each(versions)('a pattern of app.use() in $name', (version) => {
  const serve = (mount: (app: App, b: ExpressHandler) => unknown) => {
    const app = version.express()
    mount(app, expressBinding(echo))
    app.use((_req, res) => void res.status(404).send('the next handler'))
    return listen(
      app.use(((error, _req, res, _next) => void res.status(500).send(String(error))) as ErrorRequestHandler),
    )
  }
  describeMounts(patterns(version), ({ mount }) => serve(mount))

  it('is named if it hides the mount path', async () => {
    const { url } = await serve((app, b) => app.use(/^\/v\d\/.*/, b))

    const response = await fetch(`${url}/v1/api/s3/db`)

    expect([response.status, await response.text()]).toEqual([
      500,
      expect.stringMatching(/^TypeError: expressBinding .* \/v1\/api\/s3\/db, .* fastifyBinding/),
    ])
    expect((await fetch(`${url}/v1/other`)).status).toBe(404)
  })
})

describe('mounting in Express 5', () => {
  describeMounts(mounts, ({ mount }) => {
    const app = express()
    mount(app, expressBinding(echo))
    return listen(app.use((_req, res) => void res.status(404).send('the next handler')))
  })

  it('serves a path that the application has rewritten, under a mount', async () => {
    const app = express().use((req, _res, next) => {
      req.url = req.url.replace('/files', '/api/s3/db/objects')
      next()
    })
    app.use('/api', express.Router().use('/s3', expressBinding(echo)))
    const { url } = await listen(app)

    expect(await echoOf(await fetch(`${url}/files?limit=1`))).toMatchObject({
      url: `${url}/api/s3/db/objects?limit=1`,
      basePath: '/api/s3',
    })
  })

  it('does not change baseUrl and url for the next handler', async () => {
    const app = express()
    app.use('/v1', expressBinding(echo))
    app.use('/v1', (req, res) => void res.json([req.baseUrl, req.url, req.originalUrl]))
    const { url } = await listen(app)

    const response = await fetch(`${url}/v1/files?x=1`)

    expect(await response.json()).toEqual(['/v1', '/files?x=1', '/v1/files?x=1'])
  })
})
