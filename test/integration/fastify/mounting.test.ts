import { describe, expect, it } from 'vitest'
import { fastify, type FastifyServerOptions } from 'fastify'
import { fastifyBinding, type FastifyPlugin } from '@svc/db/fastify'
import { echo, echoOf } from '../bindings/echo.js'
import { describeMounts, mountedPaths, type Mount } from '../bindings/mounting-table.js'
import { listenWith, type App } from './versions.js'

interface FastifyMount extends Mount<App, FastifyPlugin> {
  /** Default `/api/s3`. */
  readonly basePath?: string
  readonly options?: FastifyServerOptions
}

const mounts: readonly FastifyMount[] = [
  { how: 'app.register(b)', mount: (app, b) => app.register(b), paths: mountedPaths.root },
  {
    how: "register(b, { prefix: '/api/s3' })",
    mount: (app, b) => app.register(b, { prefix: '/api/s3' }),
    paths: mountedPaths.base,
  },
  {
    how: "register(b, { prefix: '/v1' })",
    mount: (app, b) => app.register(b, { prefix: '/v1' }),
    paths: mountedPaths.prefix,
  },
  {
    how: 'prefixes with a parameter',
    mount: (app, b) =>
      app.register(async (tenant) => void tenant.register(b, { prefix: '/v1' }), { prefix: '/:tenant' }),
    paths: {
      '/acme/v1/api/s3/db': '/acme/v1/api/s3',
      '/ac%20me/v1/api/s3': '/ac%20me/v1/api/s3',
      '/acme/api/s3/db': null,
    },
  },
  {
    how: 'a base path with a colon',
    mount: (app, b) => app.register(b),
    basePath: '/api:s3',
    paths: { '/api:s3/db': '/api:s3', '/api:s3': '/api:s3', '/apix/db': null },
  },
  {
    how: 'a router that ignores case, slashes at the end and duplicate slashes',
    mount: (app, b) => app.register(b),
    options: { caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: true },
    paths: {
      '/api/s3/db/objects': '/api/s3',
      '/api/s3/': '/api/s3',
      '/api/s3/db/': '/api/s3',
      '/API/S3/db': null,
      '/api//s3/db': null,
    },
  },
]

describe('mounting in Fastify 5', () => {
  describeMounts(mounts, ({ mount, basePath = echo.basePath, options = {} }) => {
    const app: App = fastify({ ...options })
    mount(app, fastifyBinding({ ...echo, basePath }))
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('the next handler'))
    return listenWith(app)
  })

  it('leaves more specific routes to the application', async () => {
    const app: App = fastify()
    app.register(fastifyBinding(echo))
    app.get('/api/s3/health', async () => 'of the application')
    const { url } = await listenWith(app)

    expect(await (await fetch(`${url}/api/s3/health`)).text()).toBe('of the application')
    expect(await echoOf(await fetch(`${url}/api/s3/other`))).toMatchObject({ basePath: '/api/s3' })
  })
})
