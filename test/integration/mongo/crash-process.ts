import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { serveAsCrashWorker } from '../races/crash-worker.js'

serveAsCrashWorker(async ({ connection, callers }) => {
  const client = new MongoClient(connection['url']!, { maxPoolSize: callers })
  return { store: mongoAdapter(client.db(connection['database'])), close: () => client.close() }
})
