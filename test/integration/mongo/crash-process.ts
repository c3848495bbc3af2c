import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { serveAsCrashWorker } from '../races/crash-worker.js'

serveAsCrashWorker(async ({ place, callers }) => {
  const client = new MongoClient(place['url']!, { maxPoolSize: callers })
  return { store: mongoAdapter(client.db(place['database'])), close: () => client.close() }
})
