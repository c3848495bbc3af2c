import { createAttemptId, type StoreDriver } from '@svc/db'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openPlace } from '../../../src/adapters/mongo/connection/place.js'
import { createMongoDriver } from '../../../src/adapters/mongo/mongo-driver.js'
import { reserveCommand } from '../../unit/core/lifecycle/commands.js'
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

  it('of a purge that failed in one of them, those where it did not, and that these may not be all', async () => {
    const expiresAt = afterNoon(1)
    for (const scope of ['user:6', 'user:7']) {
      await driver.reserve(reserveCommand({ scope, key: scope, id: createAttemptId(), expiresAt }))
    }
    const proxied = clientOf(proxy.url)
    const place = openPlace(proxied.db(db.databaseName), PREFIX)
    const impatient: StoreDriver = createMongoDriver({ place, limit: 3000 })
    await impatient.usage('user:6')
    let commits = 0
    proxy.onCommand = (command) => ('commitTransaction' in command && commits++ === 0 ? 'swallow' : 'pass')
    const purge = { scope: null, before: expiresAt, limit: 1000, now: expiresAt }
    const { rows, scopes, isUncertain } = await impatient.purgeExpired(purge)
    expect(rows).toHaveLength(1)
    expect({ scopes, isUncertain }).toEqual({ scopes: [rows[0]!.scope], isUncertain: true })
    // What wasn't committed is there for the next purge, which waits for nobody that has gone.
    expect(await impatient.purgeExpired(purge)).toMatchObject({
      rows: [{ status: 'pending' }],
      isUncertain: false,
    })
    await proxied.close()
  })
})
