import session from 'express-session'
import type { RequestHandler } from 'express'
import passportModule, { Strategy, type PassportStatic } from 'passport'
import { describe, expect, it } from 'vitest'
import { db } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { memoryAdapter } from '@svc/db/memory'
import { listen } from '../bindings/listening.js'
import { cookiesOf, keysFor, objectsOfTwo } from '../bindings/two-callers.js'
import { versions } from './versions.js'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Express {
    interface User {
      readonly name: string
    }
  }
}

/** A strategy that signs in the user that the request names. */
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

describe.each(versions)('the caller, in $name', ({ express }) => {
  it('is read from passport', async () => {
    const passport = passportWithNames()
    const plugin = db({
      client: memoryAdapter({ objects: objectsOfTwo }),
      resolveScope: (request) => {
        const { user } = expressRequest(request)
        return user ? `user:${user.name}` : null
      },
    })
    const sessions = session({ secret: 'test', resave: false, saveUninitialized: false })
    const app = express().use(sessions, passport.initialize(), passport.session() as RequestHandler)
    app.post('/sign-in', passport.authenticate('name') as RequestHandler, (_req, res) => void res.end())
    const { url } = await listen(app.use('/api', express.Router().use('/s3', expressBinding(plugin))))

    expect(await keysFor(url, { 'x-name': 'ann' })).toBe(401)
    for (const name of ['ann', 'bob']) {
      const signedIn = await fetch(`${url}/sign-in`, { method: 'POST', headers: { 'x-name': name } })
      expect(await keysFor(url, { cookie: cookiesOf(signedIn) })).toEqual([`${name}.txt`])
    }
  })
})
