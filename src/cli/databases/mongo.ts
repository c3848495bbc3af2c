import { mongoAdapter } from '../../adapters/mongo/index.js'
import { WrongCall } from '../wrong-call.js'
import { byOptions } from './by-options.js'
import type { DatabaseKind } from './database-kind.js'
import { loadDriver } from './load-driver.js'

export const MONGO: DatabaseKind = {
  name: 'MongoDB',
  protocols: ['mongodb:', 'mongodb+srv:'],
  variable: 'MONGODB_URL',
  placeOption: 'prefix',

  async open({ url, place, connectTimeoutMs }) {
    checkNamesDatabase(url)
    const { MongoClient } = await loadDriver('mongodb', () => import('mongodb'))
    const client = byURL(
      () =>
        new MongoClient(url, {
          appName: 'svc-db',
          connectTimeoutMS: connectTimeoutMs,
          serverSelectionTimeoutMS: connectTimeoutMs,
        }),
    )
    const database = byURL(() => client.db())
    return {
      store: byOptions('prefix', () => mongoAdapter(database, { collectionPrefix: place ?? undefined })),
      close: () => client.close(),
    }
  },
}

/** The driver would take a database named "test" then, which nobody means who migrates or purges. */
function checkNamesDatabase(url: string): void {
  if (/^[^/]*\/\/[^/?]*\/[^?]/.test(url)) return
  throw new WrongCall(
    'The URL names no database: its name comes after the hosts, as in mongodb://host:27017/files.',
    'If the user is defined in another database, say so: mongodb://host:27017/files?authSource=admin.',
  )
}

/** What the driver refuses of a URL, before it connects. By names: the driver's classes are loaded only when needed. */
const OF_THE_URL = [
  'MongoParseError',
  'MongoInvalidArgumentError',
  'MongoMissingCredentialsError',
  'MongoAPIError',
]

/** @throws WrongCall */
function byURL<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof Error && OF_THE_URL.includes(error.name))) throw error
    throw new WrongCall(`The driver refuses the URL of the database: ${error.message}`)
  }
}
