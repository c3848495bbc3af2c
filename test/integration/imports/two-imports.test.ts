import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter } from '@svc/db/postgres'
import { importObjects, type ImportObjectsResult, type StorageObjectStore } from '@svc/db'
import { expect, it } from 'vitest'
import { ownerFromKey } from '../../unit/server/import-objects/bucket.js'
import { generatedBucket, keyAt } from '../../unit/server/import-objects/generated-bucket.js'
import { BUCKET, startService } from '../../unit/server/service.js'
import { clientOf, describeMongo, freshDatabase } from '../mongo/databases.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from '../postgres/schemas.js'

/** A page and a half. */
const COUNT = 1500

/** Imports a bucket with two stores of a database at once. One run is stopped and goes on. Checks every row and sum. */
async function expectTwoImportsToAgree(
  stores: readonly [StorageObjectStore, StorageObjectStore],
): Promise<void> {
  const { storage } = generatedBucket(COUNT)
  const runs = stores.map((objects) => {
    const { s3 } = startService({ objects, storage: () => storage })
    return (after: string | null, signal?: AbortSignal, stop = (_done: number): void => undefined) =>
      importObjects(s3, { select: ownerFromKey, after, signal, onProgress: ({ done }) => stop(done) })
  })
  const controller = new AbortController()
  const stopped = async (): Promise<ImportObjectsResult[]> => {
    const first = await runs[0]!(null, controller.signal, (done) => done === 700 && controller.abort())
    expect(first.after).not.toBe(keyAt(COUNT - 1))
    return [first, await runs[0]!(first.after)]
  }
  const [one, other] = await Promise.all([stopped(), runs[1]!(null)])
  const all = [...one, other]
  expect(all.flatMap(({ failed }) => failed)).toEqual([])
  expect(all.reduce((sum, { imported }) => sum + imported, 0)).toBe(COUNT)
  expect([all[1]!.after, other.after]).toEqual([keyAt(COUNT - 1), keyAt(COUNT - 1)])
  expect(await runs[1]!(null)).toMatchObject({ imported: 0, known: COUNT, failed: [] })

  const [store] = stores
  expect(await store.checkUsage()).toEqual([])
  for (let user = 0; user < 10; user++) {
    expect(await store.getScopeUsage(`user:${user}`)).toMatchObject({ files: COUNT / 10 })
  }
  const { objects } = await store.listByScope({ scope: 'user:3', limit: 2 })
  expect(objects.map(({ key }) => key)).toEqual([keyAt(COUNT - 7), keyAt(COUNT - 17)])
  expect(await store.findActive({ bucket: BUCKET, key: keyAt(42) })).toMatchObject({
    ...{ scope: 'user:2', size: 42, eTag: '"42"', storageKey: keyAt(42) },
    createdAt: new Date(Date.UTC(2020, 0, 1) + 42),
  })
}

const title = 'records every file once, if two run at once and one is stopped'

describePostgres('importObjects on Postgres', (url) => {
  it(title, async () => {
    const schema = freshSchema()
    const pool = poolOf(url)
    const [one, other] = [postgresAdapter(pool, { schema }), postgresAdapter(pool, { schema })]
    await one.migrate()
    await expectTwoImportsToAgree([one, other])
    await dropSchema(pool, schema)
    await pool.end()
  })
})

describeMongo('importObjects on MongoDB', (url) => {
  it(title, async () => {
    const client = clientOf(url)
    const db = freshDatabase(client)
    const [one, other] = [mongoAdapter(db), mongoAdapter(db)]
    await one.migrate()
    await expectTwoImportsToAgree([one, other])
    await db.dropDatabase()
    await client.close()
  })
})
