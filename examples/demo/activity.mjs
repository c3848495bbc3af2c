import express from 'express'
import { scopeOf } from './sessions.mjs'

/** How many entries are kept for each owner. */
const KEPT = 50

/** What the page shows of a record. */
function recordOf(object) {
  const { id, scope, key, status, filename, size, declaredSize, expiresAt, confirmedAt, deletedAt } = object
  return { id, scope, key, status, filename, size, declaredSize, expiresAt, confirmedAt, deletedAt }
}

/**
 * Keeps in memory what the library last did for each owner, so that the page can show it. `hooks` and `onOperation` are options of
 * the server, `delivered` takes each event of `onEvent`, and `router` serves `/activity`.
 */
export function activityLog(objects, quota) {
  const entriesByScope = new Map()
  let last = 0

  function add(scope, entry) {
    const entries = entriesByScope.get(scope) ?? []
    entriesByScope.set(scope, entries)
    entries.push({ number: ++last, at: new Date(), ...entry })
    entries.splice(0, entries.length - KEPT)
  }

  const router = express.Router()
  router.get('/activity', (req, res) => {
    const scope = scopeOf(req)
    if (!scope) return res.sendStatus(401)
    const after = Number(req.query.after) || 0
    const entries = (entriesByScope.get(scope) ?? []).filter(({ number }) => number > after)
    return res.set('cache-control', 'no-store').json({ entries, last })
  })

  return {
    hooks: {
      async onReserved({ object }) {
        const usage = await objects.getScopeUsage(object.scope)
        const taken = usage.bytes + usage.reservedBytes
        add(object.scope, { kind: 'reserved', record: recordOf(object), taken, quota: quota.maxBytes })
      },
      onActivated: ({ object }) => add(object.scope, { kind: 'confirmed', record: recordOf(object) }),
      onDeleted: ({ object }) => add(object.scope, { kind: 'deleted', record: recordOf(object) }),
    },
    async onOperation({ operation }, run) {
      const { scope, error } = await run()
      if (scope && error) add(scope, { kind: 'refused', operation, code: error.code, message: error.message })
    },
    delivered({ type, object }) {
      add(object.scope, { kind: 'event', type, record: recordOf(object) })
    },
    router,
  }
}
