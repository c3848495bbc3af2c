import { mongoAdapter } from '@svc/db/mongo'
import { afterAll, beforeAll } from 'vitest'
import { objectWriteTests } from '../drivers/object-writes.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

describeMongo('several clients of MongoDB', (url) => {
  const clients = Array.from({ length: 4 }, () => clientOf(url))
  const { databaseName } = freshDatabase(clients[0]!)
  const stores = clients.map((client) => mongoAdapter(client.db(databaseName)))
  beforeAll(() => stores[0]!.migrate())
  afterAll(async () => {
    await clients[0]!.db(databaseName).dropDatabase()
    await Promise.all(clients.map((client) => client.close()))
  })

  objectWriteTests(() => stores)
})
