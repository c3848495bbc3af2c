import { PGlite } from '@electric-sql/pglite'
import { createAttemptId, deliverEvents, type StorageObject } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const bucket = 'files'
/** Two keys whose locks have the same number in the schema `svc_db`. A client that chooses a part of its keys can find such a key. */
const [KEY, OTHER] = ['user:42/avatar.png', 'user:666/--1X.VRyVg4rLM.png'] as const

describe('events of two objects whose keys share the number of a lock', () => {
  let pglite: PGlite
  let store: ReturnType<typeof postgresAdapter>
  beforeAll(async () => {
    pglite = new PGlite()
    store = postgresAdapter(pglite, { events: true })
    await store.migrate()
  })
  afterAll(() => pglite.close())

  async function upload(scope: string, key: string): Promise<StorageObject> {
    const id = createAttemptId()
    const expiresAt = new Date(Date.now() + 60_000)
    await store.reserve({ id, scope, bucket, key, storageKey: `${key}~${id}`, declaredSize: 1, expiresAt })
    return store.confirm({ id, scope, bucket, key, size: 1 })
  }

  it('do not wait for each other', async () => {
    const { rows } = await pglite.query<{ numbers: string }>(
      `SELECT count(DISTINCT hashtextextended(E'svc_db\\x1ffiles\\x1f' || key, 0))::text AS numbers
       FROM unnest($1::text[]) AS key`,
      [[KEY, OTHER]],
    )
    expect(rows).toEqual([{ numbers: '1' }])

    await upload('user:666', OTHER)
    const { id } = await upload('user:42', KEY)
    expect((await store.claimEvents({ bucket, key: KEY })).map(({ object }) => object.id)).toEqual([id])
    const [claimed, ...others] = await store.claimEvents()
    expect([claimed!.object.key, others]).toEqual([OTHER, []])
  })

  it('are delivered in the order of their own object', async () => {
    await pglite.query('DELETE FROM svc_db.events')
    for (const [scope, key] of [
      ['user:666', OTHER],
      ['user:42', KEY],
      ['user:42', KEY],
      ['user:666', OTHER],
    ] as const)
      await upload(scope, key)
    const delivered: string[] = []
    await deliverEvents(store, {
      onEvent({ object }) {
        delivered.push(object.key)
        if (object.scope === 'user:666') throw new Error('refused')
      },
      onError: () => undefined,
    })
    expect(delivered.toSorted()).toEqual([KEY, KEY, OTHER])
    const { items } = await store.listEvents()
    expect(items.map(({ object, attempts }) => [object.key, attempts])).toEqual([
      [OTHER, 1],
      [OTHER, 0],
    ])
  })
})
