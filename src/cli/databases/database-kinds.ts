import { mongoAdapter } from '../../adapters/mongo/index.js'
import { postgresAdapter } from '../../adapters/postgres/index.js'
import type { StorageObjectStore } from '../../index.js'
import { UsageError } from '../exit.js'

export interface OpenOptions {
  /** The URL for the driver, including the password. */
  readonly url: string
  /** Schema or prefix; `null`: the adapter's default. */
  readonly namespace: string | null
  readonly connectTimeoutMs: number
  /** How many calls run at once. Default 1. */
  readonly connections?: number | undefined
  readonly events?: boolean | undefined
  /** Whether a database that doesn't exist is created. Default `false`. Servers have theirs. */
  readonly mayCreate?: boolean | undefined
}

/** A store on a connection that this process owns. */
export interface OpenDatabase {
  readonly store: StorageObjectStore
  close(): Promise<void>
}

export interface DatabaseKind {
  readonly name: string
  /** URL protocols, such as `postgres:`. */
  readonly protocols: readonly string[]
  /** Environment variable with the default URL. */
  readonly variable: string
  /** Option that names the tables' schema, or the prefix of collections or tables. */
  readonly namespaceOption: 'schema' | 'prefix'
  /** Connects lazily. @throws UsageError for invalid options and if the driver is not installed. */
  open(options: OpenOptions): Promise<OpenDatabase>
}

/** Runs `make`, and turns the adapter's `TypeError` about its options into a `UsageError` about `--<option>`. */
export function withOption<T>(option: DatabaseKind['namespaceOption'], make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The message starts with the names of a function and its option, which mean nothing on the command line.
    const problem = error.message.replace(/^(?:\w+(?:\(\))?: )?[`"']?\w+[`"']? /, '')
    throw new UsageError(`--${option} ${problem}`)
  }
}

/** Imports a package that the application installs. @throws UsageError if it is not installed. */
export async function loadDriver<Driver>(name: string, load: () => Promise<Driver>): Promise<Driver> {
  try {
    return await load()
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${name}'`)
    if (!isMissing) throw error
    throw new UsageError(
      `This command needs the package "${name}", which is not installed.`,
      `Install it next to @svc/db: npm install ${name}`,
    )
  }
}

export const POSTGRES: DatabaseKind = {
  name: 'PostgreSQL',
  protocols: ['postgres:', 'postgresql:'],
  variable: 'DATABASE_URL',
  namespaceOption: 'schema',

  async open({ url, namespace, connectTimeoutMs, connections = 1, events }) {
    // Without a host, the parameter `host` names the folder of a socket, as the guides of Cloud SQL write it.
    if (!URL.canParse(url.replace('@/', '@socket/'))) {
      throw new UsageError('The database URL has an invalid host or port.')
    }
    const { default: pg } = await loadDriver('pg', () => import('pg'))
    const pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: connectTimeoutMs,
      // A step of migrate() has no time limit, so the operating system finds out whether the server is still there.
      keepAlive: true,
      keepAliveInitialDelayMillis: 10_000,
      application_name: 'svc-db',
    })
    // Without a listener, losing an idle connection ends the process. The next query reports the loss.
    pool.on('error', () => {})
    return {
      // Prepared statements fail behind some connection poolers, and a short-lived command gains little by them.
      store: withOption('schema', () =>
        postgresAdapter(pool, { schema: namespace ?? undefined, namedStatements: false, events }),
      ),
      close: () => pool.end(),
    }
  },
}

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
      close: () => client.close(),
    }
  },
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

function withURL<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof Error && URL_ERRORS.includes(error.name))) throw error
    throw new UsageError(`The MongoDB driver rejects the database URL: ${error.message}`)
  }
}
