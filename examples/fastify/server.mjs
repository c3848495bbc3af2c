// A Fastify server with sessions that uses the library. Run `npm run build`, then `node examples/fastify/server.mjs`.
// PORT sets the port (default: any free one). All data is in memory.
import cookie from '@fastify/cookie'
import session from '@fastify/session'
import { fastify } from 'fastify'
import { runJobs } from '@svc/db'
import { fastifyBinding, fastifyRequest, fetchRequest } from '@svc/db/fastify'
import { createTeamNotes, errorResponse } from '../team-notes.mjs'

const people = ['ann', 'bob', 'eve']

// Maps the signed-in user to a scope, from the existing session.
const { s3, share, checksum, checkQuota, write, read, copy } = createTeamNotes((request) => {
  const { user } = fastifyRequest(request).session
  return user ? `user:${user}` : null
})

const app = fastify({ forceCloseConnections: 'idle' })
app.register(cookie)
app.register(session, {
  secret: 'a secret of 32 characters, for this example only',
  saveUninitialized: false,
  cookie: { sameSite: 'lax', secure: false },
})
app.setErrorHandler((error, _request, reply) => {
  const response = errorResponse(error)
  // Fastify handles its own errors, such as a body that doesn't match a schema.
  if (!response) return reply.send(error)
  return reply.code(response.status).send(response.body)
})

// Serves all paths below /api/s3. The address of a file for `<img src>` or a link is /api/s3/file?key=….
app.register(fastifyBinding(s3))

app.get('/health', () => 'ok')
app.post('/login', async (request, reply) => {
  if (!people.includes(request.body?.user)) return reply.code(401).send()
  // Starts a new session, to prevent session fixation.
  await request.session.regenerate()
  request.session.user = request.body.user
  return reply.code(204).send()
})
app.post('/logout', async (request, reply) => {
  await request.session.destroy()
  return reply.code(204).send()
})

// Lets the owner of a file choose who else may read it.
app.put('/readers', async (request, reply) => {
  await share(fetchRequest(request, reply), request.body ?? {})
  return reply.code(204).send()
})
// The event handler computes checksums after uploads, so there is none at first.
app.get('/checksum', async (request, reply) => {
  return { sha256: await checksum(fetchRequest(request, reply), request.query.key) }
})

// Application routes with the same guards as the library's.
app.get('/notes/:key', async (request, reply) => {
  return read(fetchRequest(request, reply), request.params.key)
})
app.post('/notes/:key/copy', async (request, reply) => {
  const { key, size } = await copy(fetchRequest(request, reply), request.params.key, request.body?.as)
  return reply.code(201).send({ key, size })
})
app.post('/notes/:key', {
  // Runs before Fastify reads the body.
  async preParsing(request, reply) {
    const size = Number(request.headers['content-length'] ?? 0)
    await checkQuota(fetchRequest(request, reply), request.params.key, size)
  },
  async handler(request, reply) {
    const note = { key: request.params.key, text: request.body, readers: request.query.readers }
    const { key, size } = await write(fetchRequest(request, reply), note)
    return reply.code(201).send({ key, size })
  },
})

const stopping = new AbortController()
const jobs = runJobs(s3, { signal: stopping.signal })
// Called when all requests have ended. Close the connections to a database in the same hook, after the jobs.
app.addHook('onClose', async () => {
  stopping.abort()
  await Promise.all([jobs, s3.close()])
})

const address = await app.listen({ port: Number(process.env.PORT ?? 0), host: '127.0.0.1' })
console.log(`Fastify listens at ${address}`)
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => app.close())
}
