import type { StorageObjectStore } from '../../index.js'
import { WrongCall } from '../wrong-call.js'
import type { DatabaseKind } from './database-kind.js'
import { loadDriver } from './load-driver.js'

type MongoAdapter = (db: object, options: { collectionPrefix?: string }) => StorageObjectStore

// Not supported yet: replace this line by `import { mongoAdapter } from '../../adapters/mongo/index.js'`.
const mongoAdapter = undefined as MongoAdapter | undefined

export const MONGO: DatabaseKind = {
  name: 'MongoDB',
  protocols: ['mongodb:', 'mongodb+srv:'],
  variable: 'MONGODB_URL',
  placeOption: 'prefix',

  async open({ url, place, connectTimeoutMs }) {
    if (!mongoAdapter) throw new WrongCall('MongoDB is not supported yet.')
    const { MongoClient } = await loadDriver('mongodb', () => import('mongodb'))
    const client = new MongoClient(url, {
      appName: 'svc-db',
      connectTimeoutMS: connectTimeoutMs,
      serverSelectionTimeoutMS: connectTimeoutMs,
    })
    return {
      store: mongoAdapter(client.db(), place === null ? {} : { collectionPrefix: place }),
      close: () => client.close(),
    }
  },
}
