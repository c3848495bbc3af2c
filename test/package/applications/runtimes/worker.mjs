// Serves the Fetch handler below /api/s3, and the same in Hono below /hono.
import { createS3Server, db, memoryStorage } from '@svc/db'
import { honoBinding, honoContext } from '@svc/db/hono'
import { memoryAdapter } from '@svc/db/memory'
import { Hono } from 'hono'

const create = (basePath, userOf) =>
  createS3Server({
    basePath,
    storage: memoryStorage(),
    bucket: 'files',
    plugins: [db({ client: memoryAdapter(), resolveScope: userOf })],
  })

// Created by the first request, because a worker has no random values before.
let s3, hono

export default {
  fetch(request) {
    s3 ??= create('/api/s3', ({ headers }) => headers.get('x-user'))
    if (new URL(request.url).pathname.startsWith('/api/s3')) return s3.handler(request)
    hono ??= new Hono().use(
      honoBinding(create('/hono', (incoming) => honoContext(incoming).req.header('x-user'))),
    )
    return hono.fetch(request)
  },
}
