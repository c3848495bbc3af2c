import express from 'express'
import { scopeOf } from './sessions.mjs'

/** Returns whether the owner shares an object. The switch is kept in its metadata. */
export const isShared = ({ metadata }) => metadata?.shared === 'yes'

/** Serves `/shared`: the ids of the caller's shared files, and the switch of each. */
export function sharing(objects) {
  const router = express.Router()

  router.get('/shared', async (req, res) => {
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const { objects: own } = await objects.listByScope({ scope, status: 'active', limit: 1000 })
    return res.set('cache-control', 'no-store').json({ ids: own.filter(isShared).map(({ id }) => id) })
  })

  router.put('/shared', express.json(), async (req, res) => {
    const { shared } = req.body ?? {}
    await change(objects, req, res, { setMetadata: { shared: shared === true ? 'yes' : null } })
  })

  return router
}

/** Serves `PUT /filename`, which changes the name that the caller's file is shown and downloaded under. Its key stays. */
export function renaming(objects) {
  const router = express.Router()
  router.put('/filename', express.json(), async (req, res) => {
    const { filename } = req.body ?? {}
    await change(objects, req, res, { filename })
  })
  return router
}

/** Changes the caller's object with the id in the body, and responds with its filename. */
async function change(objects, req, res, changes) {
  const scope = scopeOf(req)
  if (!scope) return res.sendStatus(401)
  const object = await objects.findById({ id: req.body?.id, scope })
  if (!object) return res.sendStatus(404)
  const { bucket, key } = object
  const updated = await objects.update({ bucket, key, scope, ...changes })
  return updated ? res.json({ filename: updated.filename }) : res.sendStatus(404)
}
