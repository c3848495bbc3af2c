import { Readable } from 'node:stream'
import { StorageError } from '@svc/db'
import express from 'express'
import { allScopes, scopeOf } from './sessions.mjs'

const ROUTE = 'board'

/** How long a file waits for another person's verdict, in seconds. */
const CHECK_SECONDS = 86_400

const MAX_SHOWN = 20

/** Upload route: a file on the board is checked by another person before anyone can open it. */
export const boardRoutes = { [ROUTE]: { metadata: false, check: { seconds: CHECK_SECONDS } } }

/** Returns whether everyone may open a file. */
export const isOnBoard = ({ route }) => route === ROUTE

/** Keeps in memory why files were refused, so that the page can tell their owners. An application has a table for it. */
export function refusalLog() {
  const refusals = new Map()
  return {
    hooks: {
      onRejected({ object, reason }) {
        const { scope, filename } = object
        refusals.set(scope, [{ filename, reason }, ...(refusals.get(scope) ?? [])].slice(0, MAX_SHOWN))
      },
    },
    of: (scope) => refusals.get(scope) ?? [],
  }
}

/** Serves `/board`: what is on the board and what waits for a verdict, the bytes that wait, and verdicts. */
export function board(s3, refusals) {
  const { objects } = s3.db
  const router = express.Router()

  router.get('/board', async (req, res) => {
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const shown = ({ id, key, filename, scope: owner }) => ({ id, key, filename, isOwn: owner === scope })
    const [waiting, ...accepted] = await Promise.all([
      objects.listArrived({ limit: 100 }),
      ...allScopes.map((owner) =>
        objects.listByScope({ scope: owner, route: ROUTE, status: 'active', limit: MAX_SHOWN }),
      ),
    ])
    return res.set('cache-control', 'no-store').json({
      waiting: waiting.filter(isOnBoard).map(shown),
      accepted: accepted.flatMap((page) => page.objects).map(shown),
      refused: refusals.of(scope),
    })
  })

  /** Finds a file of another person that waits for a verdict. */
  async function findWaiting(id, scope) {
    const row = await objects.findById({ id })
    return row?.arrivedAt && isOnBoard(row) && row.scope !== scope ? row : null
  }

  router.get('/board/:id/bytes', async (req, res) => {
    const scope = scopeOf(req)
    const row = scope && (await findWaiting(req.params.id, scope))
    if (!row) return res.sendStatus(scope ? 404 : 401)
    const { bucket, key, attemptId, filename } = row
    const { body } = await s3.files.get({ bucket, key, attemptId, arrived: true })
    // Never shown by the browser itself: the file may be a page with scripts.
    res.set({ 'content-type': 'application/octet-stream', 'cache-control': 'no-store' })
    return Readable.fromWeb(body).pipe(res.attachment(filename))
  })

  router.post('/board/:id/:verdict', async (req, res) => {
    const scope = scopeOf(req)
    const row = scope && (await findWaiting(req.params.id, scope))
    if (!row) return res.sendStatus(scope ? 404 : 401)
    const { bucket, key, attemptId } = row
    try {
      if (req.params.verdict === 'accept') await s3.files.accept({ bucket, key, attemptId })
      else await s3.files.reject({ bucket, key, attemptId, reason: `${req.user.name} refused it.` })
      return res.sendStatus(204)
    } catch (error) {
      // Its owner has taken it back, or it was decided in another window.
      if (error instanceof StorageError && error.code === 'OBJECT_NOT_FOUND') return res.sendStatus(404)
      throw error
    }
  })

  return router
}
