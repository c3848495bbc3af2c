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
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const { id, shared } = req.body ?? {}
    const object = await objects.findById({ id, scope })
    if (!object) return res.sendStatus(404)
    const { bucket, key } = object
    const setMetadata = { shared: shared === true ? 'yes' : null }
    const updated = await objects.update({ bucket, key, scope, setMetadata })
    return res.sendStatus(updated ? 204 : 404)
  })

  return router
}
