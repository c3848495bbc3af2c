import express from 'express'

/** Serves `PUT /filename`, which changes the name that the caller's file is shown and downloaded under. Its key stays. */
export function renaming(objects, scopeOf) {
  const router = express.Router()

  router.put('/filename', express.json(), async (req, res) => {
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const { id, filename } = req.body ?? {}
    const object = await objects.findById({ id, scope })
    if (!object) return res.sendStatus(404)
    const { bucket, key } = object
    const updated = await objects.update({ bucket, key, scope, filename })
    return updated ? res.json({ filename: updated.filename }) : res.sendStatus(404)
  })

  return router
}
