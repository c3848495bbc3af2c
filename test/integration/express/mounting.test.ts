import { describe, expect, it } from 'vitest'
import { expressBinding, type ExpressHandler } from '@svc/db/express'
import { echo, echoOf } from '../bindings/echo.js'
import { listen } from '../bindings/listening.js'
import { describeMounts, mountedPaths, type Mount } from '../bindings/mounting-table.js'
import { versions, type App, type ExpressVersion } from './versions.js'

interface ExpressMount {
  readonly how: string
  readonly mount: (app: App, binding: ExpressHandler, version: ExpressVersion) => void
  readonly paths: Mount['paths']
}

const mounts: readonly ExpressMount[] = [
  {
    how: 'app.use(b)',
    mount: (app, b) => app.use(b),
    paths: mountedPaths.root,
  },
  {
    how: "app.use('/api/s3', b)",
    mount: (app, b) => app.use('/api/s3', b),
    paths: mountedPaths.base,
  },
  {
    how: "app.use('/api/s3/', b)",
    mount: (app, b) => app.use('/api/s3/', b),
    paths: { '/api/s3/db/objects': '/api/s3', '/api/s3': '/api/s3', '/api/s3/': '/api/s3' },
  },
  {
    how: "app.use('/v1', b)",
    mount: (app, b) => app.use('/v1', b),
    paths: mountedPaths.prefix,
  },
  {
    how: "app.use('/v1/api/s3', b)",
    mount: (app, b) => app.use('/v1/api/s3', b),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v1/api': null },
  },
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
    how: 'a regular expression',
    mount: (app, b) => app.use(/^\/v\d/, b),
    paths: { '/v2/api/s3/db': '/v2/api/s3', '/vx/api/s3/db': null },
  },
  {
    how: 'several paths, with other handlers',
    mount: (app, b) =>
      app.use(['/v1', '/v2'], [(_req: unknown, _res: unknown, next: () => void) => next()], b),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v2/api/s3/db': '/v2/api/s3' },
  },
  {
    how: 'nested routers that form the base path together',
    mount: (app, b, { express }) =>
      app.use('/v1', express.Router().use('/api', express.Router().use('/s3', b))),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v1/api/s3': '/v1/api/s3', '/v1/api/db': null },
  },
  {
    how: 'nested routers above the base path',
    mount: (app, b, { express }) => app.use('/a', express.Router().use('/b', express.Router().use(b))),
    paths: { '/a/b/api/s3/db': '/a/b/api/s3', '/a/b': null },
  },
  {
    how: 'an application in an application',
    mount: (app, b, { express }) => app.use('/v1', express().use('/api/s3', b)),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v1/api': null },
  },
  {
    how: 'a route',
    mount: (app, b, { rest }) => app.all(`/api/s3/${rest}`, b),
    paths: { '/api/s3/db/objects': '/api/s3', '/api': null },
  },
  {
    how: 'a route of a router',
    mount: (app, b, { express, rest }) => app.use('/v1', express.Router().all(`/api/s3/${rest}`, b)),
    paths: { '/v1/api/s3/db': '/v1/api/s3', '/v1/api': null },
  },
  {
    how: 'a route of a router that is mounted at the base path',
    mount: (app, b, { express, rest }) => app.use('/api/s3', express.Router().all(`/${rest}`, b)),
    paths: { '/api/s3/db': '/api/s3' },
  },
]

describe.each(versions)('mounting in $name', (version) => {
  describeMounts(
    mounts.map(({ how, mount, paths }) => ({
      how,
      paths,
      serve() {
        const app = version.express()
        mount(app, expressBinding(echo), version)
        return listen(app.use((_req, res) => void res.status(404).send('the next handler')))
      },
    })),
  )

  it('serves all paths if the base path is the root', async () => {
    const binding = expressBinding({ ...echo, basePath: '' })
    const app = version.express().use('/v1', binding).use(binding)
    const { url } = await listen(app)

    expect(await echoOf(await fetch(`${url}/db/objects`))).toMatchObject({ basePath: '' })
    expect(await echoOf(await fetch(`${url}/v1/db/objects`))).toMatchObject({ basePath: '/v1' })
  })

  it('serves a path that the application has rewritten, under a mount', async () => {
    const app = version.express().use((req, _res, next) => {
      req.url = req.url.replace('/files', '/api/s3/db/objects')
      next()
    })
    app.use('/api', version.express.Router().use('/s3', expressBinding(echo)))
    const { url } = await listen(app)

    expect(await echoOf(await fetch(`${url}/files?limit=1`))).toMatchObject({
      url: `${url}/api/s3/db/objects?limit=1`,
      basePath: '/api/s3',
    })
  })

  it('does not change baseUrl and url for the next handler', async () => {
    const app = version.express()
    app.use('/v1', expressBinding(echo))
    app.use('/v1', (req, res) => void res.json([req.baseUrl, req.url, req.originalUrl]))
    const { url } = await listen(app)

    const response = await fetch(`${url}/v1/files?x=1`)

    expect(await response.json()).toEqual(['/v1', '/files?x=1', '/v1/files?x=1'])
  })

  it('handles every method', async () => {
    const { url } = await listen(version.express().use(expressBinding(echo)))

    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      expect(await echoOf(await fetch(`${url}/api/s3/db/objects`, { method }))).toMatchObject({ method })
    }
  })
})
