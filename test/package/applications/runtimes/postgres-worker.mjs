// Serves the Fetch handler over Postgres: below /each with a pool and a server for each request, and below /one with one server for
// all requests, each of which has its own pool.
import { AsyncLocalStorage } from 'node:async_hooks'
import { waitUntil } from 'cloudflare:workers'
import { createS3Server, db, memoryStorage } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import pg from 'pg'

const pools = new AsyncLocalStorage()
const storage = memoryStorage()
/** For each event, whether its handler saw the context of a request, and what was reported. */
const seen = []
const reported = []

const create = (basePath, pool) =>
  createS3Server({
    basePath,
    storage,
    bucket: 'files',
    plugins: [db({ client: postgresAdapter(pool), resolveScope: ({ headers }) => headers.get('x-user') })],
    onEvent: ({ object }) => void seen.push([object.key, pools.getStore() ? 'a context' : 'no context']),
    onError: (error) => void reported.push(String(error)),
    waitUntil,
  })

let one

export default {
  fetch(request, { DATABASE_URL: connectionString }) {
    const { pathname } = new URL(request.url)
    if (pathname === '/seen') return Response.json({ seen, reported })
    const pool = new pg.Pool({ connectionString })
    if (pathname.startsWith('/each/')) return create('/each', pool).handler(request)
    one ??= create('/one', () => pools.getStore())
    return pools.run(pool, () => one.handler(request))
  },
}
