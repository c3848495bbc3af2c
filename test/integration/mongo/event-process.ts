import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { serveAsEventWorker } from '../races/event-worker.js'

serveAsEventWorker(({ connection, writers, claimers }) => {
  const client = new MongoClient(connection['url']!, { maxPoolSize: writers + claimers })
  return {
    open: (now) => mongoAdapter(client.db(connection['database']), { now }),
    close: () => client.close(),
  }
})
