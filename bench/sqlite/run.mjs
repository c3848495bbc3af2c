// Measures what the adapter costs beside the bare statements of an application, and beside PGlite. --check: exit with 1 if a bar is missed.
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { PGlite } from '@electric-sql/pglite'
import { createAttemptId } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'
import { openReport } from '../report.mjs'
import { CHECKED, compareChecked } from '../servers/compare-checked.mjs'
import { compareWaiting } from '../servers/compare-waiting.mjs'
import { bucket } from '../servers/scopes.mjs'
import { SIZE, upload } from '../servers/store-calls.mjs'

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } })
const ROUNDS = 101
const ROWS = 10_000
const SECOND = 1_000_000_000n

const folder = mkdtempSync(join(tmpdir(), 'svc-db-bench-'))
const database = new Database(join(folder, 'data.db'))
const store = sqliteAdapter(database)
await store.migrate()
const pglite = await PGlite.create(join(folder, 'pglite'))
const embedded = postgresAdapter(pglite)
await embedded.migrate()
const { version } = database.prepare('SELECT sqlite_version() AS version').get()
console.log(`SQLite ${version} by better-sqlite3, a file with synchronous = FULL; Node ${process.versions.node}, ${cpus().length} CPUs.

Method: as in bench/redis/run.mjs, with one caller. The ratio is the time of the right side divided by that of the left.
`)

const BARE = 'bare_'
await sqliteAdapter(database, { tablePrefix: BARE }).migrate()
const insertRow =
  database.prepare(`INSERT INTO ${BARE}objects (id, attempt_id, scope, bucket, key, status, route, filename, content_type,
    declared_size, storage_key, expires_at, created_at, updated_at, writable_until)
  VALUES (:id, :id, :scope, :bucket, :key, 'pending', 'common', 'holiday picture.jpg', 'image/jpeg', :size, :key, :until, :now, :now, :until)`)
const updateRow =
  database.prepare(`UPDATE ${BARE}objects SET status = 'active', size = :size, e_tag = 'e', declared_size = NULL,
    expires_at = NULL, updated_at = :now, confirmed_at = :now
  WHERE id = :id AND deleted_at IS NULL`)

/** Stores the row of an upload, as the adapter does: the same columns and the same indexes. */
function uploadByHand(scope) {
  const id = createAttemptId()
  const now = Date.now()
  inTransaction(() =>
    insertRow.run({ id, scope, bucket, key: `uploads/${id}`, size: SIZE, until: now + 3_600_000, now }),
  )
  inTransaction(() => updateRow.run({ id, size: SIZE, now }))
}

database.exec(`CREATE TABLE files (
  id INTEGER PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, size INTEGER, status TEXT NOT NULL, created_at INTEGER NOT NULL);
  CREATE INDEX files_owner ON files (owner, status, id)`)
const insertFile = database.prepare(
  `INSERT INTO files (owner, name, status, created_at) VALUES (?, ?, 'pending', ?)`,
)
const updateFile = database.prepare(`UPDATE files SET status = 'active', size = ? WHERE id = ?`)

/** Stores an upload in a table with one index. */
function uploadToOneIndex(owner) {
  const { lastInsertRowid } = inTransaction(() => insertFile.run(owner, 'holiday picture.jpg', Date.now()))
  inTransaction(() => updateFile.run(SIZE, lastInsertRowid))
}

function inTransaction(body) {
  database.exec('BEGIN IMMEDIATE')
  const result = body()
  database.exec('COMMIT')
  return result
}

// Without waiting for the disk.
database.pragma('synchronous = OFF')
for (let index = 0; index < ROWS; index++) {
  await upload(store, 'large')
  uploadByHand('large')
  uploadToOneIndex('large')
}
database.pragma('synchronous = FULL')
for (let index = 0; index < 200; index++) await upload(embedded, 'large')

const page = database.prepare(
  `SELECT * FROM svc_db_objects WHERE scope = ? AND status = 'active' ORDER BY id DESC LIMIT 100`,
)
const usage = database.prepare(
  'SELECT bytes, files, reserved_bytes, reserved_files FROM svc_db_scope_usage WHERE scope = ?',
)
const uploaded = (target) => () => upload(target, 'bench')
const listed = (target) => () => target.listByScope({ scope: 'large', status: 'active', limit: 100 })
const used = (target) => () => target.getScopeUsage('large')

const line = (name, base, subject, bar = {}) => compareWaiting({ name, base, subject, bar, rounds: ROUNDS })
const report = openReport('sqlite')
report.add(
  'the adapter beside bare statements',
  ['bare', 'adapter'],
  [
    await line('reserve + confirm', async () => uploadByHand('bench'), uploaded(store), { most: 1.67 }),
    await line(
      'the same beside a table with one index',
      async () => uploadToOneIndex('bench'),
      uploaded(store),
    ),
    await line('a page of 100', async () => page.all('large'), listed(store), { most: 1.1 }),
    await line('usage', async () => usage.get('large'), used(store), { most: 1.2 }),
  ],
)
report.add(
  'the adapter beside PGlite in a folder',
  ['PGlite', 'SQLite'],
  [
    await line('reserve + confirm', uploaded(embedded), uploaded(store)),
    await line('a page of 100', listed(embedded), listed(store)),
    await line('usage', used(embedded), used(store)),
  ],
)

report.add(...CHECKED, await compareChecked([{ store, callers: 1 }], ROUNDS))

/** One writer, after another, for a second of time. */
let pairs = 0
for (const end = process.hrtime.bigint() + SECOND; process.hrtime.bigint() < end; pairs++) {
  await upload(store, 'bench')
}
console.log(
  `${pairs} uploads (reserve and confirm) in a second, each write on disk before its call returned.\n`,
)
const isCorrect = (await store.checkUsage()).length === 0
await pglite.close()
database.close()
rmSync(folder, { recursive: true, force: true })
report.close({ check: values.check, isCorrect })
