import { randomUUID } from 'node:crypto'
import express from 'express'

/** The demo's users. There are no passwords: every visitor may sign in as either. */
const users = [
  { id: 'ada', name: 'Ada' },
  { id: 'grace', name: 'Grace' },
]

const cookieName = 'demo-session'

/** Keeps cookie sessions in memory. Sets `req.user` for later handlers and serves `/session` to read and switch the user. */
export function sessions() {
  const userBySession = new Map()
  const router = express.Router()

  router.use((req, _res, next) => {
    req.sessionId = sessionIdOf(req)
    req.user = userBySession.get(req.sessionId)
    next()
  })

  // Opening the page signs the visitor in.
  router.get('/', (req, res, next) => {
    if (!req.user) {
      const id = randomUUID()
      userBySession.set(id, users[0])
      res.cookie(cookieName, id, { httpOnly: true, sameSite: 'strict' })
    }
    next()
  })

  router.get('/session', (req, res) => {
    if (!req.user) return res.sendStatus(401)
    return res.set('cache-control', 'no-store').json({ users, current: req.user.id })
  })

  router.put('/session', express.json(), (req, res) => {
    const user = users.find(({ id }) => id === req.body?.user)
    if (!req.user || !user) return res.sendStatus(req.user ? 400 : 401)
    userBySession.set(req.sessionId, user)
    return res.json({ users, current: user.id })
  })

  return router
}

function sessionIdOf(req) {
  const pairs = (req.headers.cookie ?? '').split(/; */).map((pair) => pair.split('='))
  return pairs.find(([name]) => name === cookieName)?.[1]
}
