import session from 'express-session'
import type { RequestHandler } from 'express'
import passportModule, { Strategy, type PassportStatic } from 'passport'
import { describe, expect, it } from 'vitest'
import { createObjectAccessGuard, createQuotaGuard, createS3Server, db, memoryStorage } from '@svc/db'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { listen } from '../bindings/listening.js'
import { versions } from './versions.js'

declare module 'express-session' {
  interface SessionData {
    account?: string
  }
}

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface User {
      readonly name: string
    }
  }
}

/** Signs in whoever says who it is; a stand-in for a real strategy. */
class NameStrategy extends Strategy {
  override name = 'name'

  override authenticate(req: Parameters<Strategy['authenticate']>[0]) {
    const name = req.headers['x-name']
    if (typeof name === 'string') this.success({ name })
    else this.fail(401)
  }
}

function passportWithNames(): PassportStatic {
  const passport = new (passportModule as unknown as { Passport: new () => PassportStatic }).Passport()
  passport.use(new NameStrategy())
  passport.serializeUser((user, done) => done(null, user.name))
  passport.deserializeUser((name: string, done) => done(null, { name }))
  return passport
}

const objects = [
  { scope: 'user:ann', bucket: 'files', key: 'ann.txt' },
  { scope: 'user:bob', bucket: 'files', key: 'bob.txt' },
]

async function keysFor(url: string, headers: Record<string, string>) {
  const response = await fetch(`${url}/api/s3/db/objects`, { headers })
  if (response.status !== 200) return response.status
  return ((await response.json()) as { objects: { key: string }[] }).objects.map(({ key }) => key)
}

const cookieOf = (response: Response) => response.headers.getSetCookie()[0]!.split(';')[0]!

describe.each(versions)('who asks, in $name', ({ express }) => {
  const sessions = () => session({ secret: 'test', resave: false, saveUninitialized: false })

  it('is known from the session', async () => {
    const plugin = db({
      client: memoryAdapter({ objects }),
      resolveScope: (request) => expressRequest(request).session.account ?? null,
    })
    const app = express().use(sessions())
    app.post('/sign-in/:name', (req, res) => {
      req.session.account = `user:${req.params.name}`
      res.end()
    })
    const { url } = await listen(app.use(expressBinding(plugin)))
    const cookie = cookieOf(await fetch(`${url}/sign-in/ann`, { method: 'POST' }))

    expect(await keysFor(url, {})).toBe(401)
    expect(await keysFor(url, { cookie })).toEqual(['ann.txt'])
  })

  it('may change the session, whose cookie is sent along', async () => {
    const plugin = db({
      client: memoryAdapter({ objects }),
      async resolveScope(request) {
        const { session } = expressRequest(request)
        session.account ??= 'user:ann'
        return session.account
      },
    })
    const { url } = await listen(express().use(sessions()).use(expressBinding(plugin)))

    const response = await fetch(`${url}/api/s3/db/objects`)

    expect(response.status).toBe(200)
    expect(cookieOf(response)).toMatch(/^connect\.sid=/)
  })

  it('is known from passport', async () => {
    const passport = passportWithNames()
    const plugin = db({
      client: memoryAdapter({ objects }),
      resolveScope: (request) => {
        const { user } = expressRequest(request)
        return user ? `user:${user.name}` : null
      },
    })
    const app = express().use(sessions(), passport.initialize(), passport.session() as RequestHandler)
    app.post('/sign-in', passport.authenticate('name') as RequestHandler, (_req, res) => void res.end())
    const { url } = await listen(app.use('/api', express.Router().use('/s3', expressBinding(plugin))))

    expect(await keysFor(url, { 'x-name': 'ann' })).toBe(401)
    for (const name of ['ann', 'bob']) {
      const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', headers: { 'x-name': name } })
      expect(await keysFor(url, { cookie: cookieOf(signedIn) })).toEqual([`${name}.txt`])
    }
  })

  it('is asked once a request, by the library and all guards', async () => {
    const asked: Request[] = []
    const client = memoryAdapter({ objects })
    const resolveScope = async (request: Request) => {
      asked.push(request)
      return `user:${expressRequest(request).get('x-name')}`
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
    const app = express().use(async (req, _res, next) => {
      await ownsAnn({ request: fetchRequest(req), bucket: 'files', key: 'ann.txt' })
      next()
    })
    const { url } = await listen(app.use(expressBinding(s3)))

    const response = await fetch(`${url}/api/s3/download?key=ann.txt`, { headers: { 'x-name': 'ann' } })

    expect(response.status).toBe(200)
    expect(asked.length).toBe(1)
  })
})
