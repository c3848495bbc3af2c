import { createAttemptId, type StoreDriver } from '@svc/db'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPlace } from '../../../src/adapters/mongo/connection/place.js'
import { createMongoDriver } from '../../../src/adapters/mongo/mongo-driver.js'
import { confirmCommand, reserveCommand } from '../../unit/core/store/lifecycle/commands.js'
import { afterNoon } from '../../unit/core/settable-clock.js'
import { itNamesTouchedScopes } from '../drivers/touched-scopes.js'
import { clientOf, describeMongo, freshDatabase } from './places.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const PREFIX = 'svc_db_'

describeMongo('the driver names the scopes that a write touched:', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const driver = createMongoDriver({ place: openPlace(db, PREFIX), limit: 30_000 })
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

  itNamesTouchedScopes(() => driver)

  /** A driver that gives up after three seconds, and of which the next so many commits never reach the server. */
  async function impatientDriver(swallowed: number) {
    const proxied = clientOf(proxy.url)
    const place = openPlace(proxied.db(db.databaseName), PREFIX)
    const impatient: StoreDriver = createMongoDriver({ place, limit: 3000 })
    await impatient.usage('user:6')
    let commits = 0
    proxy.onCommand = (command) =>
      'commitTransaction' in command && commits++ < swallowed ? 'swallow' : 'pass'
    return { impatient, close: () => proxied.close() }
  }

  it('of a purge that failed in one of them, those where it did not, and that these may not be all', async () => {
    const expiresAt = afterNoon(1)
    for (const scope of ['user:6', 'user:7']) {
      await driver.reserve(reserveCommand({ scope, key: scope, id: createAttemptId(), expiresAt }))
    }
    const { impatient, close } = await impatientDriver(1)
    const purge = { scope: null, before: expiresAt, limit: 1000, now: expiresAt }
    const { rows, scopes, isUncertain } = await impatient.purgeExpired(purge)
    expect(rows).toHaveLength(1)
    expect({ scopes, isUncertain }).toEqual({ scopes: [rows[0]!.scope], isUncertain: true })
    // What wasn't committed is there for the next purge, which waits for nobody that has gone.
    expect(await impatient.purgeExpired(purge)).toMatchObject({
      rows: [{ status: 'pending' }],
      isUncertain: false,
    })
    await close()
  })

  it('of a purge of history that failed in one of them, those where it did not; where it did in all, it rejects', async () => {
    const before = afterNoon(2)
    for (const scope of ['user:8', 'user:9']) {
      const id = createAttemptId()
      const at = reserveCommand({ scope, key: scope, id, expiresAt: afterNoon(60) })
      await driver.reserve(at)
      await driver.confirm(confirmCommand({ scope, key: scope, id }))
      await driver.remove({ ...at, mode: 'soft', now: before })
    }
    const purge = { before, limit: 1000 }
    const none = await impatientDriver(Infinity)
    await expect(none.impatient.purgeDeleted(purge)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })

    const part = await impatientDriver(1)
    const first = await part.impatient.purgeDeleted(purge)
    const second = await part.impatient.purgeDeleted(purge)
    expect(first.scopes.length).toBeGreaterThan(0)
    expect(second.scopes).toHaveLength(1)
    expect([...first.scopes, ...second.scopes]).toEqual(expect.arrayContaining(['user:8', 'user:9']))
    expect(await part.impatient.purgeDeleted(purge)).toEqual({ dropped: 0, scopes: [] })
    await Promise.all([none.close(), part.close()])
  })
})
