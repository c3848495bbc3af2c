import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { lockFolder } from './folder-lock.mjs'

/**
 * Opens the database for the records: the PostgreSQL server or the SQLite file that DATABASE_URL names, or the MongoDB replica set that
 * MONGODB_URL names, otherwise PGlite (PostgreSQL inside this process) with its files in the given folder. `client` is an
 * adapter for `db()`; the rest of the demo is the same for all.
 */
export async function openDatabase(folder) {
  const database = await chosenDatabase(folder)
  try {
    // Creates or upgrades the schema, and turns events on. Several processes may run this at once.
    await database.client.migrate()
  } catch (error) {
    await database.close()
    const cause = error.cause?.code ?? error.cause?.message
    throw new Error(`Can't use ${database.name}: ${error.message}${cause ? ` (${cause})` : ''}`, {
      cause: error,
    })
  }
  return database
}

function chosenDatabase(folder) {
  const { DATABASE_URL, MONGODB_URL } = process.env
  if (DATABASE_URL && MONGODB_URL) {
    throw new Error('DATABASE_URL and MONGODB_URL are both set. Unset one of them.')
  }
  if (/^sqlite:/i.test(DATABASE_URL ?? '')) return sqliteFile(DATABASE_URL)
  if (DATABASE_URL) return postgresServer(DATABASE_URL)
  if (MONGODB_URL) return mongoServer(MONGODB_URL)
  return embeddedPostgres(folder)
}

async function postgresServer(url) {
  // The driver also accepts paths of sockets, but it would connect to any scheme as if it were PostgreSQL.
  const [, scheme] = /^([a-z][\w+.-]*:\/\/)/i.exec(url) ?? []
  if (scheme && !/^(?:postgres(?:ql)?|socket):/i.test(scheme)) {
    throw new Error(`DATABASE_URL must start with postgres://, postgresql:// or sqlite: (got ${scheme}…).`)
  }
  // An application installs only the driver that it uses.
  const [{ default: pg }, { postgresAdapter }] = await Promise.all([import('pg'), import('@svc/db/postgres')])
  const pool = new pg.Pool({
    connectionString: url,
    // Without these limits, a call waits forever for a server that hangs or a pool that is exhausted.
    connectionTimeoutMillis: 5000,
    statement_timeout: 30_000,
  })
  // Without a listener, losing an idle connection ends the process.
  pool.on('error', (error) => console.error('Lost an idle connection:', error.message))
  return {
    name: `the PostgreSQL server at ${withoutPassword(url)}`,
    client: postgresAdapter(pool, { events: true }),
    close: () => pool.end(),
  }
}

/** `sqlite:./data.db` or `sqlite:///absolute/data.db`. */
async function sqliteFile(url) {
  const path = url.replace(/^sqlite:(?:\/\/(?=\/))?/i, '')
  const [open, { sqliteAdapter }] = await Promise.all([sqliteLibrary(), import('@svc/db/sqlite')])
  const database = open(path)
  return {
    name: `the SQLite file ${path}`,
    client: sqliteAdapter(database, { events: true }),
    close: async () => database.close(),
  }
}

/** Node 22.13 and later have SQLite, others need better-sqlite3. */
async function sqliteLibrary() {
  try {
    const { DatabaseSync } = await import('node:sqlite')
    return (path) => new DatabaseSync(path)
  } catch {
    const { default: Database } = await import('better-sqlite3')
    return (path) => new Database(path)
  }
}

async function mongoServer(url) {
  const [{ MongoClient }, { mongoAdapter }] = await Promise.all([import('mongodb'), import('@svc/db/mongo')])
  const client = openClient(() => new MongoClient(url, { serverSelectionTimeoutMS: 5000 }))
  const { hosts, srvHost, dbName } = client.options
  return {
    name: `the MongoDB replica set at ${srvHost ?? hosts.join(',')}, database ${dbName}`,
    // Uses the database that the URL names.
    client: mongoAdapter(client.db(), { events: true }),
    close: () => client.close(),
  }
}

function openClient(open) {
  try {
    return open()
  } catch {
    // The driver's message may repeat the URL, which contains the password.
    throw new Error('MONGODB_URL must be a URL such as mongodb://host:27017/files?replicaSet=rs0.')
  }
}

async function embeddedPostgres(dataFolder) {
  const folder = join(dataFolder, 'database')
  await mkdir(folder, { recursive: true })
  const unlock = await lockFolder(dataFolder)
  const [{ PGlite }, { postgresAdapter }] = await Promise.all([
    import('@electric-sql/pglite'),
    import('@svc/db/postgres'),
  ])
  const database = await PGlite.create(folder)
  return {
    name: `PGlite in ${folder}`,
    client: postgresAdapter(database, { events: true }),
    async close() {
      await database.close()
      await unlock()
    },
  }
}

function withoutPassword(url) {
  if (!URL.canParse(url)) return 'DATABASE_URL'
  const { host, pathname } = new URL(url)
  return host + pathname
}
