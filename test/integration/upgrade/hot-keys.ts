import { createAttemptId } from '@svc/db'
import { BUCKET, inAnHour, pick, randomBelow, uniqueFilename, type Caller } from './load.js'

const HOT_SCOPES = ['ann', 'bob'] as const
const HOT_KEYS = ['hot/1', 'hot/2', 'hot/3', 'hot/4', 'hot/5', 'hot/6'] as const
/** Another caller may have ended the attempt, or may own the key. */
const LOST = ['OBJECT_NOT_FOUND', 'KEY_CONFLICT']

/** Makes one or two calls for a key that every caller of both versions writes. */
export async function changeHotKey({ store, version, call, change }: Caller): Promise<void> {
  const reference = { bucket: BUCKET, key: pick(HOT_KEYS) }
  const scope = pick(HOT_SCOPES)
  const die = randomBelow(version === '2.0' ? 12 : 8)
  if (die === 0) {
    await change('deleted', () =>
      store.remove({ ...reference, scope, mode: pick(['soft', 'hard'] as const) }),
    )
  } else if (die < 8) {
    const id = createAttemptId()
    const attempt = { ...reference, id, scope, declaredSize: randomBelow(100), filename: uniqueFilename() }
    const input = { ...attempt, expiresAt: inAnHour(), storageKey: `bytes/${id}`, overwrite: die > 1 }
    const row = await call('reserve', () => store.reserve(input), LOST)
    if (!row) return
    if (die < 3) await call('release', () => store.release({ ...reference, id, scope }))
    else {
      const confirmation = { ...reference, id, scope, size: randomBelow(100) }
      await change('activated', () => store.confirm(confirmation), { refusals: LOST })
    }
  } else if (die < 10) {
    await change('updated', () => store.update({ ...reference, filename: uniqueFilename() }))
  } else {
    const to = pick(HOT_SCOPES.filter((other) => other !== scope))
    await change('transferred', () => store.transfer({ ...reference, from: scope, to }), { isCertain: false })
  }
}
