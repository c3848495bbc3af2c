import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { serveAsRaceWorker } from '../races/race-worker.js'

serveAsRaceWorker(async ({ place, callers }) => {
  const client = new MongoClient(place['url']!, { maxPoolSize: callers })
  return { store: mongoAdapter(client.db(place['database'])), close: () => client.close() }
})
