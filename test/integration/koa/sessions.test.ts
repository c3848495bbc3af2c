import Koa3 from 'koa'
import session from 'koa-session'
import { describe, expect, it } from 'vitest'
import { createObjectAccessGuard, createQuotaGuard, createS3Server, db, memoryStorage } from '@svc/db'
import { fetchRequest, koaBinding, koaContext } from '@svc/db/koa'
import { memoryAdapter } from '@svc/db/memory'
import { listenWith, versions, type App, type Koa } from './versions.js'

const objects = [
  { scope: 'user:ann', bucket: 'files', key: 'ann.txt' },
  { scope: 'user:bob', bucket: 'files', key: 'bob.txt' },
]

async function keysFor(url: string, headers: Record<string, string>) {
  const response = await fetch(`${url}/api/s3/db/objects`, { headers })
  if (response.status !== 200) return response.status
  return ((await response.json()) as { objects: { key: string }[] }).objects.map(({ key }) => key)
}

const cookiesOf = (response: Response) => response.headers.getSetCookie().map((line) => line.split(';')[0]!)

function withSessions(Koa: Koa): App {
  const app = new Koa({ keys: ['test'] })
  app.use(session(app))
  return app
}

const accountOf = (request: Request) => {
  const { account } = koaContext(request).session as { account?: string }
  return account ?? null
}

describe.each(versions)('who asks, in $name', ({ Koa }) => {
  it('is known from the session', async () => {
    const plugin = db({ client: memoryAdapter({ objects }), resolveScope: accountOf })
    const app = withSessions(Koa).use(async (ctx, next) => {
      if (!ctx.path.startsWith('/sign-in/')) return void (await next())
      ;(ctx.session as { account?: string }).account = `user:${ctx.path.slice('/sign-in/'.length)}`
      ctx.status = 204
    })
    const { url } = await listenWith(app.use(koaBinding(plugin)))
    const signedIn = await fetch(`${url}/sign-in/ann`, { method: 'POST' })

    expect(await keysFor(url, {})).toBe(401)
    expect(await keysFor(url, { cookie: cookiesOf(signedIn).join('; ') })).toEqual(['ann.txt'])
  })

  it('may change the session, whose cookie is sent along, with whatever answer', async () => {
    const plugin = db({
      client: memoryAdapter({ objects }),
      resolveScope(request) {
        const session = koaContext(request).session as { account?: string }
        return (session.account ??= 'user:ann')
      },
    })
    const server = createS3Server({ storage: memoryStorage(), bucket: 'files', plugins: [plugin] })
    const { url } = await listenWith(withSessions(Koa).use(koaBinding(server)))
    for (const [method, path, status] of [
      ['GET', '/db/objects', 200],
      ['HEAD', '/db/objects', 200],
      ['DELETE', '/object?key=none', 404],
      ['DELETE', '/object?key=ann.txt', 204],
    ] as const) {
      const response = await fetch(`${url}/api/s3${path}`, { method })
      expect(response.status).toBe(status)
      expect(cookiesOf(response)[0]).toMatch(/^koa\.sess=/)
    }
  })

  it('is known from the state that middleware has set', async () => {
    const plugin = db({
      client: memoryAdapter({ objects }),
      resolveScope: (request) => (koaContext(request).state as { user: string }).user,
    })
    const app = new Koa().use((ctx, next) => {
      ctx.state = { user: `user:${ctx.get('x-name')}` }
      return next()
    })
    const { url } = await listenWith(app.use(koaBinding(plugin)))

    expect(await keysFor(url, { 'x-name': 'bob' })).toEqual(['bob.txt'])
  })

  it('is asked once a request, by the library and all guards', async () => {
    const asked: Request[] = []
    const client = memoryAdapter({ objects })
    const resolveScope = async (request: Request) => {
      asked.push(request)
      return `user:${koaContext(request).get('x-name')}`
    }
    const s3 = createS3Server({
      storage: memoryStorage(),
      bucket: 'files',
      plugins: [db({ client, resolveScope })],
      download: {
        guard: async (context) => void (await createQuotaGuard({ client, resolveScope })(context)),
      },
    })
    const ownsAnn = createObjectAccessGuard({ client, resolveScope })
    const app = new Koa().use(async (ctx, next) => {
      await ownsAnn({ request: fetchRequest(ctx), bucket: 'files', key: 'ann.txt' })
      await next()
    })
    const { url } = await listenWith(app.use(koaBinding(s3)))

    const response = await fetch(`${url}/api/s3/download?key=ann.txt`, { headers: { 'x-name': 'ann' } })

    expect(response.status).toBe(200)
    expect(asked.length).toBe(1)
  })
})

it('is known where asyncLocalStorage carries the context', async () => {
  const app = new Koa3({ asyncLocalStorage: true })
  const plugin = db({
    client: memoryAdapter({ objects }),
    resolveScope: (request) =>
      app.currentContext === koaContext(request) ? `user:${koaContext(request).get('x-name')}` : null,
  })
  const { url } = await listenWith(app.use(koaBinding(plugin)))

  expect(await keysFor(url, { 'x-name': 'ann' })).toEqual(['ann.txt'])
})
