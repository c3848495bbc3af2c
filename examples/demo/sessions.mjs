import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import express from 'express'

/** The demo's users. There are no passwords: every visitor may sign in as either. */
const users = [
  { id: 'ada', name: 'Ada' },
  { id: 'grace', name: 'Grace' },
]

/** The oldest sessions beyond this number end. */
const maxSessions = 1000
const cookieMaxAge = 30 * 24 * 60 * 60 * 1000

/**
 * Keeps cookie sessions in a file of the folder, so that they survive a restart. Sets `req.user` for later handlers and serves
 * `/session` to read and switch the user. Browsers send cookies to all ports of a host, so the name of the cookie contains the port.
 */
export function sessions({ folder, port }) {
  const cookieName = `demo-session-${port}`
  const file = join(folder, 'sessions.json')
  const userIds = readSessions(file)
  const router = express.Router()

  function signIn(sessionId, user) {
    userIds.delete(sessionId)
    userIds.set(sessionId, user.id)
    for (const oldest of userIds.keys()) {
      if (userIds.size <= maxSessions) break
      userIds.delete(oldest)
    }
    writeSessions(file, userIds)
  }

  router.use((req, res, next) => {
    req.sessionId = cookieOf(req, cookieName)
    req.user = users.find(({ id }) => id === userIds.get(req.sessionId))
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
    if (!req.user) {
      const id = randomUUID()
      signIn(id, users[0])
      res.cookie(cookieName, id, { httpOnly: true, sameSite: 'strict', maxAge: cookieMaxAge })
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
    signIn(req.sessionId, user)
    return res.json({ users, current: user.id })
  })

  return router
}

function cookieOf(req, wanted) {
  const pairs = (req.headers.cookie ?? '').split(/; */).map((pair) => pair.split('='))
  return pairs.find(([name]) => name === wanted)?.[1]
}

/** Returns the user of each session, the oldest first. Without a readable file, everyone starts anew. */
function readSessions(file) {
  try {
    return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8'))))
  } catch {
    return new Map()
  }
}

function writeSessions(file, userIds) {
  mkdirSync(join(file, '..'), { recursive: true })
  // A process that is killed while it writes leaves the old file.
  writeFileSync(`${file}.new`, JSON.stringify(Object.fromEntries(userIds)))
  renameSync(`${file}.new`, file)
}
