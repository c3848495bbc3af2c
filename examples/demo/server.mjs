// A small application built on @svc/db: two people on one server, each with their own files and quota, who can share files. `npm start`
// runs it. Records and bytes survive a restart. settings.mjs lists its settings.
import express from 'express'
import { createS3Server, db } from '@svc/db'
import { expressBinding, expressRequest } from '@svc/db/express'
import { runUntilSignal } from '../lifecycle.mjs'
import { activityLog } from './activity.mjs'
import { board, boardRoutes, isOnBoard, refusalLog } from './board.mjs'
import { openDatabase } from './database.mjs'
import { printFailure, sendFailure } from './failures.mjs'
import { listen } from './listen.mjs'
import { noteRoutes, notes } from './notes.mjs'
import { isShared, sharing } from './own-routes.mjs'
import { bundlePage, contentSecurity } from './page.mjs'
import { scopeOf, sessions } from './sessions.mjs'
import { readSettings } from './settings.mjs'
import { openStorage } from './storage.mjs'
import { hasThumbnails, keepThumbnail, pictureOf } from './thumbnails.mjs'

const { host, port, quota, folder } = readSettings(process.env)
const app = express()
app.disable('x-powered-by')
const server = await listen(app, { host, port })
const origin = `http://${host}:${server.address().port}`

const { storage, bucket, ...bytes } = await openStorage(folder, origin)
const database = await openDatabase(folder)
const activity = activityLog(database.client, quota)
const refusals = refusalLog()
const ending = new AbortController()

/** Lets the page choose the album alone. What the server has written stays. */
function labelsOf(metadata, { object }) {
  const labels = { ...object?.metadata }
  delete labels.album
  return metadata?.album ? { ...labels, album: metadata.album } : labels
}

const s3 = createS3Server({
  storage,
  bucket,
  // Only the server stores thumbnails.
  routes: { default: { metadata: labelsOf }, thumbnails: { http: false }, ...noteRoutes, ...boardRoutes },
  plugins: [
    db({
      client: database.client,
      resolveScope: (request) => scopeOf(expressRequest(request)),
      quota,
      usageEndpoint: true,
      // People can rename their files, and put them into albums.
      update: { fields: ['filename', 'metadata'] },
      visibleMetadata: ['album'],
      hooks: { ...activity.hooks, ...refusals.hooks },
      // A shared file opens for every signed-in user who has its link, and one on the board for all of them. Who may see a picture may see its thumbnail.
      async mayRead(object, { scope }) {
        const file = scope === null ? null : await pictureOf(object, database.client)
        return file !== null && (file.scope === scope || isShared(file) || isOnBoard(file))
      },
    }),
  ],
  async onEvent(event, context) {
    await keepThumbnail(s3.files, event, context)
    activity.delivered(event)
  },
  onOperation: activity.onOperation,
  onError(error, context) {
    // The next start delivers events that were in progress at the end of this one.
    const isDeliveredLater = context.operation === 'deliverEvents' && ending.signal.aborted
    if (!isDeliveredLater) printFailure(error, context)
  },
})

app.use(
  contentSecurity(bytes.origin),
  sessions(),
  expressBinding(s3),
  sharing(s3.db.objects),
  notes(s3),
  board(s3, refusals),
)
app.use(activity.router, await bundlePage(), sendFailure)
runUntilSignal({ server, s3, ending, cleanUpEverySeconds: 60, closeDatabase: database.close })

console.log(`The demo runs at ${origin} (Ctrl+C stops it)`)
console.log(`Records: ${database.name}\nBytes: ${bytes.name}`)
if (!hasThumbnails) console.log(`Thumbnails: none, because the package sharp can't be loaded`)
