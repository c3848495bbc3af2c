// An Express server with sessions that uses the library. Run `npm run build`, then `node examples/express/server.mjs`.
// PORT sets the port (default: any free one). All data is in memory.
import express from 'express'
import session from 'express-session'
import helmet from 'helmet'
import { expressBinding, expressRequest, fetchRequest } from '@svc/db/express'
import { runUntilSignal } from '../lifecycle.mjs'
import { createTeamNotes, errorResponse } from '../team-notes.mjs'

const people = ['ann', 'bob', 'eve']

// Maps the signed-in user to a scope, from the existing session.
const { s3, share, checksum, checkQuota, write, read, copy } = createTeamNotes((request) => {
  const { user } = expressRequest(request).session
  return user ? `user:${user}` : null
})

const app = express()
app.use(helmet())
app.use(
  session({
    secret: 'for this example only',
    resave: false,
    saveUninitialized: false,
    cookie: { sameSite: 'lax' },
  }),
)
app.get('/health', (_req, res) => res.send('ok'))

app.post('/login', express.json(), (req, res, next) => {
  if (!people.includes(req.body?.user)) return res.sendStatus(401)
  // Starts a new session, to prevent session fixation.
  return req.session.regenerate((error) => {
    if (error) return next(error)
    req.session.user = req.body.user
    return res.sendStatus(204)
  })
})
app.post('/logout', (req, res, next) => {
  req.session.destroy((error) => (error ? next(error) : res.sendStatus(204)))
})

// Serves all paths below /api/s3. The address of a file for `<img src>` or a link is /api/s3/file?key=….
app.use(expressBinding(s3))

// Lets the owner of a file choose who else may read it.
app.put('/readers', express.json(), async (req, res) => {
  await share(fetchRequest(req), req.body)
  res.sendStatus(204)
})
// The event handler computes checksums after uploads, so there is none at first.
app.get('/checksum', async (req, res) => {
  res.json({ sha256: await checksum(fetchRequest(req), req.query.key) })
})

// Application routes with the same guards as the library's.
app.get('/notes/:key', async (req, res) => {
  res.type('text').send(await read(fetchRequest(req), req.params.key))
})
app.post('/notes/:key/copy', express.json(), async (req, res) => {
  const { key, size } = await copy(fetchRequest(req), req.params.key, req.body?.as)
  res.status(201).json({ key, size })
})
// Checks the quota before reading the body.
const checkSize = async (req, _res, next) => {
  await checkQuota(fetchRequest(req), req.params.key, Number(req.get('content-length') ?? 0))
  next()
}
app.post('/notes/:key', checkSize, express.text(), async (req, res) => {
  const note = { key: req.params.key, text: req.body, readers: req.query.readers }
  const { key, size } = await write(fetchRequest(req), note)
  res.status(201).json({ key, size })
})

app.use((error, _req, res, next) => {
  const response = errorResponse(error)
  if (!response || res.headersSent) return next(error)
  return res.status(response.status).json(response.body)
})

const server = app.listen(Number(process.env.PORT ?? 0), '127.0.0.1', () => {
  console.log(`Express listens at http://127.0.0.1:${server.address().port}`)
})
runUntilSignal({ server, s3 })
