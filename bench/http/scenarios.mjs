import { createAttemptId } from '@svc/db'
import { CONNECTIONS } from './child-process.mjs'
import { bucket, scope, scopeWithMetadata } from './listed-scope.mjs'
import { FILE, keyOf } from './uploads-by-hand.mjs'

/** Callers of uploads. Each has one connection, because the library batches the writes of one scope and a bare route doesn't. */
const UPLOADERS = Array.from({ length: CONNECTIONS }, (_, number) => `user:uploader-${number}`)

/** Requests per round if each needs an object in the bucket. Writing the objects takes longer than the measured requests. */
const OBJECT_ROUND_REQUESTS = 160

const LIST_BARS = { Express: 0.92, Koa: 0.92, Fastify: 0.92, Hono: 0.92 }
/** What requests of an upload must reach with a bucket. Both routes use the AWS SDK. */
const UPLOAD_BARS = { Express: 0.85, Koa: 0.85, Fastify: 0.85, Hono: 0.85 }
/**
 * What they reach with a stub. Without the cost of signing, the library's own cost is a larger share. The
 * `Request` that `resolveScope` receives takes a tenth of a bare route by itself, and Fastify's and Hono's own routes are the
 * fastest.
 */
const STUB_BARS = { Express: 0.75, Koa: 0.65, Fastify: 0.55, Hono: 0.55 }

/** Lists the page of one owner. */
const list = (name, owner) => ({
  name,
  path: '/db/objects',
  bars: LIST_BARS,
  usesBucket: false,
  owners: [owner],
  bodiesFor: () => undefined,
})

/** The scenarios of an upload, with a real bucket and with a stub. */
const uploads = (usesBucket) => {
  const bars = usesBucket ? UPLOAD_BARS : STUB_BARS
  const suffix = usesBucket ? '' : ', without a bucket'
  return [
    {
      name: `POST /upload${suffix}`,
      path: '/upload',
      bars,
      usesBucket,
      owners: UPLOADERS,
      bodiesFor: () => [FILE],
      ...(usesBucket && { checkBody: checkUploadURL }),
    },
    {
      name: `POST /upload/confirm${suffix}`,
      path: '/upload/confirm',
      bars,
      usesBucket,
      owners: UPLOADERS,
      ...(usesBucket && { roundRequests: OBJECT_ROUND_REQUESTS }),
      async bodiesFor({ store, gateway }, owner, count) {
        const bodies = []
        for (let done = 0; done < count; done++) {
          const { key, id, storageKey } = await reserveAttempt(store, owner)
          if (usesBucket) await gateway.put({ storageKey, id })
          bodies.push({ key, id })
        }
        return bodies
      },
    },
  ]
}

/**
 * What is compared. `bodiesFor` returns what an owner posts, or `undefined` for a GET request. `checkBody` checks the body of a
 * response of either route.
 */
export const scenarios = [
  list('GET /db/objects', scope),
  list('GET /db/objects, 16 kB of metadata on every row', scopeWithMetadata),
  ...uploads(true),
  ...uploads(false),
]

/** Uploads the file with the URL of a response. */
async function checkUploadURL({ upload: { method, url, headers } }) {
  const response = await fetch(url, { method, headers, body: Buffer.alloc(FILE.size) })
  if (!response.ok)
    throw new Error(`The bucket refuses an upload: ${response.status} ${await response.text()}`)
}

/** Reserves an upload. */
async function reserveAttempt(store, owner) {
  const id = createAttemptId()
  const key = keyOf()
  const storageKey = `${key}~${id}`
  const { size, ...file } = FILE
  const expiresAt = new Date(Date.now() + 3_600_000)
  const upload = {
    id,
    scope: owner,
    bucket,
    key,
    storageKey,
    route: 'default',
    ...file,
    expiresAt,
  }
  await store.reserve({ ...upload, declaredSize: size })
  return { key, id, storageKey }
}
