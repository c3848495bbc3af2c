import { afterAll, it, onTestFinished } from 'vitest'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { expectDeliveryByAll } from '../races/delivery-race.js'
import { expectTroublesToBeBounded, TROUBLE_LIMIT } from '../races/delivery-trouble.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

describeMongo('deliverEvents in several processes', (url) => {
  const client = clientOf(url)
  afterAll(() => client.close())

  it('delivers every event in order, whatever is killed', async () => {
    const db = freshDatabase(client)
    // A killed process can leave a transaction that blocks the database for a while. The server is removed anyway.
    onTestFinished(async () => void (await db.dropDatabase({ maxTimeMS: 5000 }).catch(() => false)))
    const store = mongoAdapter(db, { events: true })
    await store.migrate()
    await expectDeliveryByAll({
      connection: { kind: 'mongo', url, database: db.databaseName },
      store,
      changesPerKey: 100,
    })
  })

  it('delivers first events and ends in time, whatever trouble handlers make', TROUBLE_LIMIT, async () => {
    const db = freshDatabase(client)
    onTestFinished(async () => void (await db.dropDatabase({ maxTimeMS: 5000 }).catch(() => false)))
    const store = mongoAdapter(db, { events: true })
    await store.migrate()
    const connection = { kind: 'mongo', url, database: db.databaseName } as const
    await expectTroublesToBeBounded({ connection, store, imported: 100_000 })
  })
})
