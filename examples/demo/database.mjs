import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { mongoAdapter } from '@svc/db/mongo'
import { postgresAdapter } from '@svc/db/postgres'
import { keepForThisProcess } from './single-process.mjs'

/**
 * Where the demo keeps its records: on the PostgreSQL server that DATABASE_URL names, or on the MongoDB replica set that
 * MONGODB_URL names, otherwise in PGlite, which is PostgreSQL inside this process, with its files in the given folder.
 * `client` is what `db()` takes; all else in the demo is the same for each.
 */
export async function openDatabase(folder) {
  const database = await chosenDatabase(folder)
  try {
    // Makes tables or collections, or brings those of an older release up to date. Any number of processes may do so at once.
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
  if (DATABASE_URL && MONGODB_URL) throw new Error('DATABASE_URL and MONGODB_URL are both set: unset one.')
  if (DATABASE_URL) return postgresServer(DATABASE_URL)
  if (MONGODB_URL) return mongoServer(MONGODB_URL)
  return embeddedPostgres(join(folder, 'database'))
}

async function postgresServer(url) {
  // Loaded where it is used: an application installs only the driver that it needs.
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    connectionString: url,
    // Without these, a call waits for ever for a server that hangs or a pool that is exhausted.
    connectionTimeoutMillis: 5000,
    statement_timeout: 30_000,
  })
  // Without a listener the loss of an idle connection ends the process.
  pool.on('error', (error) => console.error('An idle connection was lost:', error.message))
  return {
    name: `the PostgreSQL server at ${withoutPassword(url)}`,
    client: postgresAdapter(pool),
    close: () => pool.end(),
  }
}

async function mongoServer(url) {
  const { MongoClient } = await import('mongodb')
  const client = openClient(() => new MongoClient(url, { serverSelectionTimeoutMS: 5000 }))
  const { hosts, srvHost, dbName } = client.options
  return {
    name: `the MongoDB replica set at ${srvHost ?? hosts.join(',')}, database ${dbName}`,
    // The database that the URL names.
    client: mongoAdapter(client.db()),
    close: () => client.close(),
  }
}

function openClient(open) {
  try {
    return open()
  } catch {
    // The driver's message may repeat the URL, and with it the password.
    throw new Error('MONGODB_URL must be like mongodb://host:27017/files?replicaSet=rs0.')
  }
}

async function embeddedPostgres(folder) {
  const { PGlite } = await import('@electric-sql/pglite')
  await mkdir(folder, { recursive: true })
  // PGlite doesn't notice another process that opens its files, and the two would damage them.
  await keepForThisProcess(folder)
  const database = await PGlite.create(folder)
  return {
    name: `PGlite in ${folder}`,
    client: postgresAdapter(database),
    close: () => database.close(),
  }
}

function withoutPassword(url) {
  if (!URL.canParse(url)) return 'DATABASE_URL'
  const { host, pathname } = new URL(url)
  return host + pathname
}
