import { afterAll, beforeAll, expect, it } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

const SCOPES = Array.from({ length: 20 }, (_, i) => `scope ${i}`)

describeMongo('purgeDeleted of many scopes', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const store = mongoAdapter(db)
  beforeAll(async () => {
    await store.migrate()
    await Promise.all(
      SCOPES.map(async (scope) => {
        const at = { bucket: 'bucket', key: scope }
        const { id } = await store.reserve({
          scope,
          ...at,
          declaredSize: 5,
          expiresAt: new Date('2100-01-01'),
        })
        await store.confirm({ ...at, id, scope, size: 5 })
        await store.remove({ ...at, scope, mode: 'soft' })
      }),
    )
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  it('takes at most four connections at a time, so that other calls find one', async () => {
    let used = 0
    let most = 0
    client.on('connectionCheckedOut', () => (most = Math.max(most, ++used)))
    client.on('connectionCheckedIn', () => used--)
    expect(await store.purgeDeleted({ before: new Date('2100-01-01') })).toBe(SCOPES.length)
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual(4)
    expect(await store.countByScope('scope 0', 'deleted')).toBe(0)
    expect(await store.checkUsage()).toEqual([])
  })
})
