import { mongoAdapter } from '@svc/db/mongo'
import { MongoClient } from 'mongodb'
import { serveUpgradeProcess } from '../upgrade/process.js'

serveUpgradeProcess(({ url, database }) => {
  const client = new MongoClient(url!)
  return Promise.resolve({ store: mongoAdapter(client.db(database)), close: () => client.close() })
})
