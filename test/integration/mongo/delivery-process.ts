import { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../../src/adapters/mongo/index.js'
import { serveAsDeliveryProcess } from '../races/delivery-process.js'

serveAsDeliveryProcess((connection) => {
  const client = new MongoClient(connection['url']!, { maxPoolSize: 4 })
  return { store: mongoAdapter(client.db(connection['database'])), close: () => client.close() }
})
