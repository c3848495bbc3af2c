import type { Db } from 'mongodb'
import { afterAll, beforeEach, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const scope = 'user:ann'
const RIGHT = { bytes: 5, files: 1, reservedBytes: 0, reservedFiles: 0 }

describeMongo('repairUsage in MongoDB', (url) => {
  const client = clientOf(url)
  let db: Db
  let store: StorageObjectStore
  beforeEach(async () => {
    await db?.dropDatabase()
    db = freshDatabase(client)
    store = mongoAdapter(db)
    await store.migrate()
    const at = { bucket: 'uploads', key: 'a.txt', scope }
    const { id } = await store.reserve({ ...at, declaredSize: 5, expiresAt: new Date(Date.now() + 60_000) })
    await store.confirm({ ...at, id, size: 5 })
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })
  const sums = () => db.collection<{ _id: string }>('svc_db_objects')

  it('recreates a missing document of sums', async () => {
    await sums().deleteOne({ _id: scope })
    expect(await store.repairUsage()).toMatchObject([{ scope, recorded: { bytes: 0 }, actual: RIGHT }])
    expect(await store.getScopeUsage(scope)).toEqual(RIGHT)
    expect(await store.checkUsage()).toEqual([])
    expect(await store.countByScope(scope)).toBe(1)
  })

  it.each(['a wrong document', 'no document'])('corrects once if called concurrently (%s)', async (state) => {
    if (state === 'no document') await sums().deleteOne({ _id: scope })
    else await sums().updateOne({ _id: scope }, { $inc: { bytes: 7, files: 2 } })
    const repairs = await Promise.all([1, 2, 3, 4].map(() => store.repairUsage(scope)))
    expect(repairs.flat()).toHaveLength(1)
    expect(await store.getScopeUsage(scope)).toEqual(RIGHT)
  })

  it('corrects sums that become wrong again', async () => {
    for (const wrong of [3, -2]) {
      await sums().updateOne({ _id: scope }, { $inc: { bytes: wrong } })
      expect(await store.repairUsage(scope)).toHaveLength(1)
      expect(await store.getScopeUsage(scope)).toEqual(RIGHT)
    }
  })
})
