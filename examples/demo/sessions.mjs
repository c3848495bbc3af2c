import express from 'express'

/** The demo's users. There are no passwords: every visitor may sign in as either, so the cookie is simply the user's id. */
const users = [
  { id: 'ada', name: 'Ada' },
  { id: 'grace', name: 'Grace' },
]

const COOKIE = 'demo-user'
const COOKIE_OPTIONS = { httpOnly: true, sameSite: 'strict', maxAge: 30 * 24 * 60 * 60 * 1000 }

/** The scopes of all users. */
export const allScopes = users.map(({ id }) => `user:${id}`)

/** Returns the scope of a request, the library's name for an owner. Any string that identifies the owner will do. */
export const scopeOf = ({ user }) => (user ? `user:${user.id}` : null)

/** Sets `req.user` for later handlers, and serves `/session` to read and switch the user. */
export function sessions() {
  const router = express.Router()

  router.use((req, res, next) => {
    req.user = users.find(({ id }) => id === cookieOf(req))
    const shown = req.get('x-demo-user')
    // The visitor has switched users in another window. What this window shows and sends belongs to the previous one.
    if (shown && req.user && shown !== req.user.id) {
      const message = `This window shows ${shown}, but ${req.user.id} is signed in.`
      return res.status(403).json({ code: 'FORBIDDEN', message })
    }
    return next()
  })

  // Opening the page signs the visitor in.
  router.get('/', (req, res, next) => {
    if (!req.user) res.cookie(COOKIE, users[0].id, COOKIE_OPTIONS)
    next()
  })

  router.get('/session', (req, res) => {
    if (!req.user) return res.sendStatus(401)
    return res.set('cache-control', 'no-store').json({ users, current: req.user.id })
  })

  router.put('/session', express.json(), (req, res) => {
    const user = users.find(({ id }) => id === req.body?.user)
    if (!req.user || !user) return res.sendStatus(req.user ? 400 : 401)
    return res.cookie(COOKIE, user.id, COOKIE_OPTIONS).json({ users, current: user.id })
  })

  return router
}

function cookieOf(req) {
  const pairs = (req.headers.cookie ?? '').split(/; */).map((pair) => pair.split('='))
  return pairs.find(([name]) => name === COOKIE)?.[1]
}
