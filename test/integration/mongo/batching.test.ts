import { createAttemptId, type StorageObject, type StorageObjectStore } from '@svc/db'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { describeMongo, freshDatabase } from './databases.js'
import { watchedClient } from './watched-client.js'

const BUCKET = 'bucket'
const inAnHour = () => new Date(Date.now() + 3_600_000)

describeMongo('concurrent writes of one scope', (url) => {
  const watched = watchedClient(url)
  const { client } = watched
  const db = freshDatabase(client)
  const store: StorageObjectStore = mongoAdapter(db)
  let scope: string
  let counter = 0
  beforeAll(() => store.migrate())
  beforeEach(async () => {
    scope = `scope ${++counter}`
    await store.getScopeUsage(scope)
    watched.take()
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  const attempt = (key: string, more: object = {}) => ({
    ...{ scope, bucket: BUCKET, key: `${scope}/${key}` },
    ...{ declaredSize: 10, expiresAt: inAnHour(), ...more },
  })
  const commits = () => watched.take().filter(({ name }) => name === 'commitTransaction').length

  /**
   * Makes calls while another write of the scope is in flight, so they share a transaction. Returns rows or error
   * codes.
   */
  async function together(calls: readonly (() => Promise<StorageObject | null>)[]) {
    const first = store.reserve(attempt('first', { declaredSize: 0 }))
    const settled = Promise.allSettled(calls.map((call) => call()))
    await first
    return (await settled).map((result) =>
      result.status === 'fulfilled' ? result.value : (result.reason as { code: string | number }).code,
    )
  }

  it('share a transaction: each caller gets its own result, refusals affect no other call, quotas are exact', async () => {
    const taken = await store.reserve(attempt('taken', { scope: `${scope} other` }))
    const there = await store.reserve(attempt('there', { declaredSize: 1 }))
    watched.take()
    const quota = { maxBytes: 101 }
    const outcomes = await together([
      () => store.reserve(attempt('60', { declaredSize: 60, quota })),
      () => store.reserve(attempt('50', { declaredSize: 50, quota })),
      () => store.reserve(attempt('taken')),
      () => store.reserve(attempt('40', { declaredSize: 40, quota })),
      () => store.reserve(attempt('sum', { declaredSize: Number.MAX_SAFE_INTEGER })),
      () => store.confirm({ ...there, id: createAttemptId(), size: 1 }),
      () => store.reserve(attempt('1', { declaredSize: 1, quota })),
      () => store.remove({ bucket: BUCKET, key: 'nothing', scope }),
      () => store.release({ ...there, uploadId: null }),
    ])
    // The first call, then the batch, then the second of two calls on one key.
    expect(commits()).toBe(3)
    expect(outcomes.slice(0, 7)).toMatchObject([
      { declaredSize: 60 },
      'QUOTA_EXCEEDED',
      'KEY_CONFLICT',
      { declaredSize: 40 },
      'VALIDATION_ERROR',
      'OBJECT_NOT_FOUND',
      'QUOTA_EXCEEDED',
    ])
    expect(outcomes.slice(7)).toEqual([null, there])
    expect(await store.find(taken)).toEqual(taken)
    expect(await store.getScopeUsage(scope)).toMatchObject({ reservedBytes: 100, reservedFiles: 3 })
    expect(await store.checkUsage()).toEqual([])
  })

  it('are batched without a scope too, and correct if the key has changed its scope meanwhile', async () => {
    const rows = await Promise.all(['a', 'b', 'c', 'd'].map((key) => store.reserve(attempt(key))))
    watched.take()
    const confirmed = await Promise.all(
      rows.map(({ bucket, key, id }) => store.confirm({ bucket, key, id, size: 1 })),
    )
    expect(confirmed).toMatchObject(rows.map(({ id }) => ({ attemptId: id })))
    expect(commits()).toBeLessThanOrEqual(2)

    // Another store gives the keys to another scope.
    const other = mongoAdapter(db)
    const taker = { scope: `${scope} taker`, quota: { maxBytes: 40 } }
    for (const { bucket, key } of rows) await other.remove({ bucket, key, mode: 'hard' })
    for (const { key } of rows) await other.reserve({ ...attempt('', taker), key })
    const quota = { maxBytes: 41 }
    const outcomes = await Promise.allSettled(
      rows.map(({ bucket, key }) => store.confirm({ bucket, key, size: 11, quota })),
    )
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(await store.getScopeUsage(taker.scope)).toMatchObject({ bytes: 11, reservedBytes: 30 })
    expect(await store.checkUsage()).toEqual([])
  })
})
