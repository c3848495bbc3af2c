// A small application around @svc/db: two people, each with files of their own and a quota.
// `npm start` builds the package and runs this. Records and bytes survive a restart. Settings, all of them optional:
//   PORT                    default: a free one
//   DATA_DIR                the folder of records and bytes, where nothing of the following is set
//   DATABASE_URL            a PostgreSQL server for the records
//   MONGODB_URL             or a MongoDB replica set for them
//   S3_ENDPOINT, S3_BUCKET  a bucket for the bytes; credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, region in
//                           AWS_REGION (default us-east-1)
//   QUOTA_BYTES             what each person may store (default 25000000)
import { createServer } from 'node:http'
import { resolve } from 'node:path'
import { clearInterval, setInterval } from 'node:timers'
import { fileURLToPath } from 'node:url'
import express from 'express'
import { cleanUp, createS3Server, db } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { bundlePage } from './bundle.mjs'
import { openDatabase } from './database.mjs'
import { sessions } from './sessions.mjs'
import { allowsUploadsFrom, corsFor, openStorage } from './storage.mjs'

const host = '127.0.0.1'
const quota = { maxBytes: Number(process.env.QUOTA_BYTES || 25_000_000), maxFiles: 40 }
const cleanUpEveryMilliseconds = 60_000

// The one place that says who owns what: a scope is whatever names an owner in the application's own terms.
const scopeOf = (user) => (user ? `user:${user.id}` : null)

const folder = resolve(process.env.DATA_DIR || fileURLToPath(new URL('data', import.meta.url)))
const database = await openDatabase(folder).catch(giveUp)
const bytes = await openStorage(folder).catch(async (error) => {
  await database.close()
  giveUp(error)
})
const others = bytes.origin ? ` ${bytes.origin}` : ''

const s3 = createS3Server({
  storage: bytes.storage,
  bucket: bytes.bucket,
  plugins: [
    db({
      client: database.client,
      resolveScope: (request) => scopeOf(expressRequest(request).user),
      quota,
    }),
  ],
  onError: (error, { operation }) => console.error(`${operation}:`, error),
})

const app = express()
app.disable('x-powered-by')
app.use((_req, res, next) => {
  res.set({
    'content-security-policy': [
      `default-src 'self'; connect-src 'self'${others}; img-src 'self'${others}`,
      "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    ].join('; '),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  })
  next()
})
app.use(sessions())
app.use(expressBinding(s3))

// Usage is the application's to show: the library has the numbers, and no endpoint that gives them away.
app.get('/usage', async (req, res) => {
  const scope = scopeOf(req.user)
  if (!scope) return res.sendStatus(401)
  const usage = await s3.db.objects.getScopeUsage(scope)
  return res.set('cache-control', 'no-store').json({ ...usage, ...quota })
})
app.use(await bundlePage())

const server = createServer(app)
server.on('error', giveUp)
server.listen(Number(process.env.PORT ?? 0), host, async () => {
  const origin = `http://${host}:${server.address().port}`
  console.log(`Records: ${database.name}\nBytes: ${bytes.name}`)
  if (bytes.origin && !(await allowsUploadsFrom(origin, bytes).catch(() => false))) {
    console.error(`The bucket doesn't allow uploads from this page. Its CORS configuration could be:`)
    console.error(JSON.stringify(corsFor(origin), null, 2))
  }
  console.log(`The demo runs at ${origin} (Ctrl+C ends it)`)
})

// Confirms uploads whose tab was closed too early, drops the ones that were given up, and removes bytes nobody needs.
let cleaning = null
const cleaningTimer = setInterval(() => {
  cleaning = cleanUp(s3).catch((error) => console.error('cleanUp:', error))
}, cleanUpEveryMilliseconds)

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    clearInterval(cleaningTimer)
    // What is under way may finish, and only then the database goes.
    server.close(async () => {
      await cleaning
      await database.close()
    })
    // A connection that only waits, or an upload that never ends, doesn't keep the process.
    server.closeIdleConnections()
    setTimeout(() => server.closeAllConnections(), 3000).unref()
  })
}

function giveUp(error) {
  console.error(`The demo can't run: ${error.message}`)
  process.exit(1)
}
