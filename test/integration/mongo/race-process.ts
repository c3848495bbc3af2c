import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { serveAsRaceWorker } from '../races/race-worker.js'

serveAsRaceWorker(async ({ connection, callers }) => {
  const client = new MongoClient(connection['url']!, { maxPoolSize: callers })
  return { store: mongoAdapter(client.db(connection['database'])), close: () => client.close() }
})
