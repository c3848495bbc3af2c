import { StorageError } from '@svc/db'
import express from 'express'
import { scopeOf } from './sessions.mjs'

/** How long an attachment waits for its note, in seconds. An application would give it days. */
const UNSAVED_SECONDS = 300

/** Upload routes: attachments go by themselves unless their note is saved. Only the server stores notes. */
export const noteRoutes = {
  attachments: { metadata: false, temporarySeconds: UNSAVED_SECONDS },
  notes: { http: false },
}

const MAX_NOTES = 20

/** Serves `/notes`: the latest notes of the caller, and a new one, whose attachments are kept. */
export function notes(s3) {
  const { objects } = s3.db
  const router = express.Router()

  router.get('/notes', async (req, res) => {
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const page = await objects.listByScope({ scope, route: 'notes', status: 'active', limit: MAX_NOTES })
    const shown = page.objects.map(({ id, metadata }) => ({
      id,
      text: metadata?.text,
      attachments: Number(metadata?.attachments),
    }))
    return res.set('cache-control', 'no-store').json({ notes: shown })
  })

  router.post('/notes', express.json(), async (req, res) => {
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const { text, ids } = req.body ?? {}
    if (typeof text !== 'string' || text === '' || text.length > 2000 || !Array.isArray(ids))
      return res.sendStatus(400)
    try {
      // The text is an object too. With tables in Postgres, both would be one transaction.
      if (ids.length > 0) await objects.keep({ scope, objects: ids.map((id) => ({ id })) })
      const metadata = { text, attachments: String(ids.length) }
      await s3.files.put({
        scope,
        route: 'notes',
        filename: 'note.txt',
        body: text,
        contentType: 'text/plain',
        metadata,
      })
      return res.sendStatus(204)
    } catch (error) {
      const isRefused = error instanceof StorageError && error.status < 500
      if (!isRefused) throw error
      return res.sendStatus(error.status)
    }
  })

  return router
}
