// A small application built on @svc/db: two people on one server, each with their own files and quota, who can share files. `npm start`
// runs it. Records and bytes survive a restart. All settings are optional:
//   PORT                    default: the port of the previous run, or the first free one from 3000; 0: any free port
//   DATA_DIR                folder for the port, and for records and bytes unless the following settings name other stores
//   DATABASE_URL            a PostgreSQL server for the records
//   MONGODB_URL             or a MongoDB replica set for the records
//   S3_ENDPOINT, S3_BUCKET  a bucket for the bytes; credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, region in
//                           AWS_REGION (default us-east-1)
//   QUOTA_BYTES             how many bytes each person may store (default 25000000)
import { createServer } from 'node:http'
import { clearInterval, setInterval } from 'node:timers'
import express from 'express'
import { cleanUp, createS3Server, db } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { activityLog } from './activity.mjs'
import { bundlePage } from './bundle.mjs'
import { openDatabase } from './database.mjs'
import { eventDelivery } from './delivery.mjs'
import { failureLog } from './failure-log.mjs'
import { listen, rememberPort } from './port.mjs'
import { renaming } from './renaming.mjs'
import { sessions } from './sessions.mjs'
import { readSettings } from './settings.mjs'
import { isShared, sharing } from './sharing.mjs'
import { allowsUploadsFrom, corsFor, openStorage } from './storage.mjs'
import { keepThumbnail, loadSharp, pictureOf } from './thumbnails.mjs'

const host = '127.0.0.1'
const cleanUpEveryMilliseconds = 60_000

// Maps a user to a scope, the library's name for an owner. Any string that identifies the owner will do.
const scopeOf = (user) => (user ? `user:${user.id}` : null)

try {
  await run(readSettings(process.env))
} catch (error) {
  console.error(`The demo can't start: ${error.message}`)
  process.exit(1)
}

async function run({ port, quota, folder }) {
  // Takes the port first, because opening the database takes a while. Requests that arrive earlier wait.
  let handle
  const ready = new Promise((resolve) => (handle = resolve))
  const server = createServer(async (req, res) => (await ready)(req, res))
  await listen(server, { host, port, folder })
  const chosenPort = server.address().port
  const origin = `http://${host}:${chosenPort}`

  const bytes = await openStorage(folder)
  // The page is bundled while the database opens.
  const [database, page, sharp] = await Promise.all([openDatabase(folder), bundlePage(), loadSharp()])
  if (bytes.origin && !(await allowsUploadsFrom(origin, bytes).catch(() => false))) {
    console.error(`The bucket doesn't allow uploads from this page. Set this CORS configuration on it:`)
    console.error(JSON.stringify(corsFor(origin), null, 2))
  }

  const printFailure = failureLog()
  const activity = activityLog({
    getUsage: (scope) => database.client.getScopeUsage(scope),
    quota,
    scopeOf: (req) => scopeOf(req.user),
  })
  const delivery = eventDelivery(async (event, context) => {
    await keepThumbnail(s3.files, sharp, event, context)
    activity.delivered(event)
  })
  const s3 = createS3Server({
    storage: bytes.storage,
    bucket: bytes.bucket,
    plugins: [
      db({
        client: database.client,
        resolveScope: (request) => scopeOf(expressRequest(request).user),
        quota,
        usageEndpoint: true,
        hooks: activity.hooks,
        // A shared file opens for every signed-in user who has its link. Who may see a picture may see its thumbnail.
        async mayRead(object, { scope }) {
          const file = scope === null ? null : await pictureOf(object, database.client)
          return file !== null && (file.scope === scope || isShared(file))
        },
      }),
    ],
    onEvent: delivery.onEvent,
    onOperation: activity.onOperation,
    onError(error, { operation }) {
      // The database is closing. The next start delivers these events.
      if (operation === 'deliverEvents' && delivery.hasStopped()) return
      printFailure(error, { operation })
    },
  })
  const routers = [
    sessions({ folder, port: chosenPort }),
    expressBinding(s3),
    sharing(s3.db.objects, (req) => scopeOf(req.user)),
    renaming(s3.db.objects, (req) => scopeOf(req.user)),
    activity.router,
    page,
  ]
  handle(createApp(routers, { storageOrigin: bytes.origin, printFailure }))
  rememberPort(folder, chosenPort)
  delivery.start(s3)
  const stopCleaningUp = cleanUpRegularly(s3, printFailure)
  stopOnSignal(server, database, () => Promise.all([stopCleaningUp(), delivery.stop()]))
  console.log(`The demo runs at ${origin} (Ctrl+C stops it)`)
  console.log(`Records: ${database.name}\nBytes: ${bytes.name}`)
  if (!sharp) console.log(`Thumbnails: none, because the package sharp can't be loaded`)
}

function createApp(routers, { storageOrigin, printFailure }) {
  const app = express()
  app.disable('x-powered-by')
  const sources = storageOrigin ? `'self' ${storageOrigin}` : `'self'`
  app.use((_req, res, next) => {
    res.set({
      'content-security-policy': [
        `default-src 'self'; connect-src ${sources}; img-src ${sources}`,
        "frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
      ].join('; '),
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    next()
  })
  app.use(...routers)
  // Express's own handler would show the stack to the browser.
  return app.use((error, req, res, next) => {
    if (res.headersSent) return next(error)
    const { statusCode = 500, code = 'INTERNAL_ERROR', message } = error
    if (statusCode >= 500) printFailure(error, { operation: `${req.method} ${req.path}` })
    return res.status(statusCode).json({ code, message: error.expose ? message : 'Internal error.' })
  })
}

/** Confirms uploads whose tab was closed too early, drops abandoned ones and deletes bytes without a record. */
function cleanUpRegularly(s3, printFailure) {
  let running = null
  const timer = setInterval(() => {
    running = cleanUp(s3).catch((error) => printFailure(error, { operation: 'cleanUp' }))
  }, cleanUpEveryMilliseconds)
  return async () => {
    clearInterval(timer)
    await running
  }
}

function stopOnSignal(server, database, stopJobs) {
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => {
      const stopped = stopJobs()
      // Requests in progress may finish before the database closes.
      server.close(async () => {
        await stopped
        await database.close()
      })
      // Idle connections and uploads that never finish don't keep the process alive.
      server.closeIdleConnections()
      setTimeout(() => server.closeAllConnections(), 3000).unref()
    })
  }
}
