import { mongoAdapter } from '@svc/db/mongo'
import { afterAll, beforeAll } from 'vitest'
import { describeEndingRaces } from '../../unit/server/describe-ending-races.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

describeMongo('a server with mongoAdapter', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  beforeAll(() => mongoAdapter(db, { collectionPrefix: '' }).migrate())
  afterAll(async () => {
    await db.dropDatabase()
    await client.close()
  })

  describeEndingRaces(5, async (now) => {
    const names = ['objects', 'leftovers']
    await Promise.all(
      names.map((name) => db.collection(name).deleteMany({}, { writeConcern: { w: 'majority' } })),
    )
    return mongoAdapter(db, { collectionPrefix: '', now })
  })
})
