import { compareWaiting } from './compare-waiting.mjs'
import { bucket } from './scopes.mjs'
import { ample, reserve, SIZE } from './store-calls.mjs'

const CHANGES = {
  update: (store, at, { owner }) =>
    store.update({ ...at, scope: owner, filename: `picture ${Math.random()}.jpg` }),
  transfer: async (store, at, object) => {
    const [from, to] = [object.owner, object.other]
    await store.transfer({ ...at, from, to, quota: ample })
    Object.assign(object, { owner: to, other: from })
  },
}

/**
 * Compares a replacement that is reserved and then released with one that is reserved before the object is changed. Each
 * caller has an object and two scopes of its own.
 */
export async function compareChanges({ store, callers, most, rounds }) {
  const results = []
  for (const [change, run] of Object.entries(CHANGES)) {
    const objects = await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        const [owner, other] = ['a', 'b'].map((name) => `user:${change}-${callers}-${caller}-${name}`)
        const { key } = await reserve(store, owner, ample)
        await store.confirm({ bucket, key, size: SIZE })
        return { key, owner, other }
      }),
    )
    const replacing = async (caller, then) => {
      const object = objects[caller]
      const at = { bucket, key: object.key }
      const expiresAt = new Date(Date.now() + 3_600_000)
      await store.reserve({ ...at, scope: object.owner, declaredSize: SIZE, expiresAt, quota: ample })
      await then(at, object)
    }
    results.push(
      await compareWaiting({
        name: `${change}, ${callers === 1 ? '1 caller' : `${callers} callers`}`,
        base: (caller) => replacing(caller, (at, { owner }) => store.release({ ...at, scope: owner })),
        subject: (caller) => replacing(caller, (at, object) => run(store, at, object)),
        bar: { most },
        callers,
        rounds,
      }),
    )
  }
  return results
}
