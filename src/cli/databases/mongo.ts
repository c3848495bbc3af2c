import type { MongoClient } from 'mongodb'
import { mongoAdapter } from '../../adapters/mongo/index.js'
import { UsageError } from '../exit.js'
import { loadDriver, withOption, type DatabaseKind } from './database-kind.js'

export const MONGO: DatabaseKind = {
  name: 'MongoDB',
  protocols: ['mongodb:', 'mongodb+srv:'],
  variable: 'MONGODB_URL',
  namespaceOption: 'prefix',

  async open({ url, namespace, connectTimeoutMs, events }) {
    checkDatabaseName(url)
    const { MongoClient } = await loadDriver('mongodb', () => import('mongodb'))
    const client = withURL(
      () =>
        new MongoClient(url, {
          appName: 'svc-db',
          connectTimeoutMS: connectTimeoutMs,
          serverSelectionTimeoutMS: connectTimeoutMs,
        }),
    )
    const database = withURL(() => client.db())
    return {
      store: withOption('prefix', () =>
        mongoAdapter(database, { collectionPrefix: namespace ?? undefined, events }),
      ),
      advice: () => adviceAbout(client),
      close: () => client.close(),
    }
  },
}

/** How long calls of the adapter wait by default, in seconds. */
const CALL_LIMIT = 30
const LIFETIME = 'transactionLifetimeLimitSeconds'

async function adviceAbout(client: MongoClient): Promise<readonly string[]> {
  const parameters = await client
    .db('admin')
    .command({ getParameter: 1, [LIFETIME]: 1 })
    // Reading a parameter needs a role that the adapter itself does not.
    .catch(() => null)
  const seconds: unknown = parameters?.[LIFETIME]
  if (typeof seconds !== 'number' || seconds < CALL_LIMIT) return []
  return [
    `${LIFETIME} is ${seconds}: a process that is killed within a transaction can block other writes of its scope ` +
      `for ${seconds} s, and they fail after ${CALL_LIMIT} s. Set it to 15.`,
  ]
}

/** Requires a database name, because the driver defaults to `test`. */
function checkDatabaseName(url: string): void {
  if (/^[^/]*\/\/[^/?]*\/[^?]/.test(url)) return
  throw new UsageError(
    'The URL has no database name. Add it after the hosts, as in mongodb://host:27017/files.',
    'If the user is defined in another database, add authSource: mongodb://host:27017/files?authSource=admin.',
  )
}

/** Names of the errors that the driver throws for an invalid URL. The classes are only available once it is loaded. */
const URL_ERRORS = [
  'MongoParseError',
  'MongoInvalidArgumentError',
  'MongoMissingCredentialsError',
  'MongoAPIError',
]

/** @throws UsageError if the driver rejects the URL. */
function withURL<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof Error && URL_ERRORS.includes(error.name))) throw error
    throw new UsageError(`The MongoDB driver rejects the database URL: ${error.message}`)
  }
}
