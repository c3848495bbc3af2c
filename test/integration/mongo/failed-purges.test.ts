import { createAttemptId } from '@svc/db'
import type { StoreDriver } from '@svc/db/adapter'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { openNamespace } from '../../../src/adapters/mongo/connection/namespace.js'
import { createMongoDriver } from '../../../src/adapters/mongo/driver.js'
import { confirmCommand, reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { afterNoon } from '../../unit/core/settable-clock.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const PREFIX = 'svc_db_'

describeMongo('the MongoDB driver reports what is left of', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const driver = createMongoDriver({ namespace: openNamespace(db, PREFIX), timeout: 3_600_000 })
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await driver.migrate()
  })
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
    await proxy.close()
  })

  /** Creates a driver with a timeout of five seconds, whose next commits never reach the server. */
  async function driverWithLostCommits(count: number) {
    const proxied = clientOf(proxy.url)
    onTestFinished(() => proxied.close())
    const namespace = openNamespace(proxied.db(db.databaseName), PREFIX)
    const failing: StoreDriver = createMongoDriver({ namespace, timeout: 5000 })
    await failing.usage('user:6')
    let commits = 0
    proxy.onCommand = (command) => ('commitTransaction' in command && commits++ < count ? 'swallow' : 'pass')
    return failing
  }

  it('a purge that failed in one scope: the rows of the others, marked as uncertain', async () => {
    const expiresAt = afterNoon(1)
    for (const scope of ['user:6', 'user:7']) {
      await driver.reserve(reserveCommand({ scope, key: scope, id: createAttemptId(), expiresAt }))
    }
    const failing = await driverWithLostCommits(1)
    const purge = { scope: null, before: expiresAt, limit: 1000, now: expiresAt }
    const { rows, isUncertain } = await failing.purgeExpired(purge)
    expect(rows).toHaveLength(1)
    expect(isUncertain).toBe(true)
    // The next purge gets the row that wasn't committed, and doesn't wait for the lost transaction.
    expect(await failing.purgeExpired(purge)).toMatchObject({
      rows: [{ status: 'pending' }],
      isUncertain: false,
    })
  })

  it('a purge of history that failed in one scope: the number of the others; rejects if it failed in all', async () => {
    const before = afterNoon(2)
    for (const scope of ['user:8', 'user:9']) {
      const id = createAttemptId()
      const at = reserveCommand({ scope, key: scope, id, expiresAt: afterNoon(60) })
      await driver.reserve(at)
      await driver.confirm(confirmCommand({ scope, key: scope, id }))
      await driver.remove({ ...at, attemptId: null, mode: 'soft', now: before })
    }
    const purge = { id: null, scope: null, before, limit: 1000 }
    const none = await driverWithLostCommits(Infinity)
    await expect(none.purgeDeleted(purge)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })

    const part = await driverWithLostCommits(1)
    const first = await part.purgeDeleted(purge)
    const second = await part.purgeDeleted(purge)
    expect(first.dropped).toBeGreaterThan(0)
    expect(first.dropped + second.dropped).toBe(2)
    expect(await part.purgeDeleted(purge)).toEqual({ dropped: 0 })
  })
})
