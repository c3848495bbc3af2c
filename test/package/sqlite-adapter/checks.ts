import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it, mock } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sqliteAdapter } from '../../../examples/sqlite-adapter/index.ts'
import { QUOTA, type RaceReport } from './race-worker.ts'

/** Runs under a Node with `node:sqlite`, by Node's own test runner. */
const folder = mkdtempSync(join(tmpdir(), 'svc-db-sqlite-checks-'))
after(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const freshPath = () => join(folder, `${files++}.db`)
const later = new Date(Date.now() + 3_600_000)

async function migrated(options: { readonly events?: boolean; readonly busyTimeout?: number } = {}) {
  const path = freshPath()
  const store = sqliteAdapter({ path, ...options })
  assert.deepEqual(await store.migrate(), { from: 0, to: 1 })
  return { path, store }
}

const reserve = { scope: 'ann', bucket: 'b', key: 'k', declaredSize: 3, expiresAt: later }

void it('asks for migrate() before the first use', async () => {
  const store = sqliteAdapter({ path: freshPath() })
  for (const call of [store.reserve(reserve), store.getScopeUsage('ann'), store.claimEvents()]) {
    await assert.rejects(call, { code: 'DATABASE_UNAVAILABLE', retryable: false, message: /migrate\(\)/ })
  }
  assert.match((await store.verify()).join(), /migrate\(\)/)
  await store.ping()
})

void it('rejects a file that is not a database', () => {
  for (const path of [folder, fileURLToPath(import.meta.url)]) {
    assert.throws(() => sqliteAdapter({ path }), { code: 'DATABASE_UNAVAILABLE', retryable: false })
  }
})

void it('keeps the stored switch of events unless the option is given', async () => {
  const { path, store } = await migrated({ events: true })
  const other = sqliteAdapter({ path })
  assert.deepEqual(await other.migrate(), { from: 1, to: 1 })
  const { id } = await other.reserve(reserve)
  await other.confirm({ bucket: 'b', key: 'k', id, size: 3 })
  assert.equal((await store.countEvents()).waiting, 1)
  await sqliteAdapter({ path, events: false }).migrate()
  await store.remove({ bucket: 'b', key: 'k' })
  assert.equal((await store.countEvents()).waiting, 1)
})

void it('verifies its tables and indexes, and recounts a changed counter', async () => {
  const { path, store } = await migrated()
  await store.reserve(reserve)
  assert.deepEqual(await store.verify(), [])
  const database = new DatabaseSync(path)
  database.exec(`DROP INDEX objects_id; DROP INDEX objects_key; CREATE INDEX objects_key ON objects (key)`)
  assert.deepEqual(await store.verify(), [
    'The index objects_id is missing: call migrate().',
    'The index objects_key differs.',
  ])
  await store.migrate()
  assert.deepEqual(await store.verify(), ['The index objects_key differs.'])
  database.exec('UPDATE scopes SET bytes = 7, pending = 5')
  const recorded = { bytes: 7, files: 0, reservedBytes: 3, reservedFiles: 1 }
  const difference = { scope: 'ann', recorded, actual: { ...recorded, bytes: 0 } }
  assert.deepEqual(await store.checkUsage(), [difference])
  assert.deepEqual(await store.repairUsage('ann'), [difference])
  assert.deepEqual(await store.checkUsage(), [])
  assert.equal(await store.countByScope('ann'), 1)
  database.exec('DELETE FROM scopes')
  assert.equal((await store.repairUsage()).length, 1)
  assert.deepEqual(await store.getScopeUsage('ann'), difference.actual)
})

void it('gives up on a lock after the busy timeout', async () => {
  const { path, store } = await migrated({ busyTimeout: 50 })
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE')
  await assert.rejects(store.reserve(reserve), { code: 'DATABASE_UNAVAILABLE', retryable: true })
  assert.equal(await store.find(reserve), null)
  other.exec('ROLLBACK')
  assert.equal((await store.reserve(reserve)).status, 'pending')
})

void it('waits for a migration that creates the file', async () => {
  const path = freshPath()
  const other = new DatabaseSync(path)
  other.exec('BEGIN IMMEDIATE; CREATE TABLE other (id)')
  setImmediate(() => other.exec('ROLLBACK'))
  assert.deepEqual(await sqliteAdapter({ path }).migrate(), { from: 0, to: 1 })
})

void it('reads only what it returns, with and without statistics', async () => {
  const { path, store } = await migrated({ events: true })
  const prepare = mock.method(DatabaseSync.prototype, 'prepare')
  try {
    const calls = sqliteAdapter({ path, events: true })
    const [reference, scope] = [{ bucket: 'b', key: 'k' }, 'ann']
    for (let round = 0; round < 2; round++) {
      const { id } = await calls.reserve({
        ...reserve,
        overwrite: true,
        uploadId: 'u',
        storageKey: `s${round}`,
      })
      await calls.find({ ...reference, scope })
      await calls.findPending({ ...reference, id })
      await calls.findPendingMultipart({ ...reference, fileSize: 3 })
      await calls.confirm({ ...reference, id, size: 3 })
      await calls.update({ ...reference, filename: `f${round}` })
      await calls.findActive(reference)
      await calls.findById({ id, scope })
    }
    await calls.reserve({ ...reserve, key: 'k2', uploadId: 'u' })
    await calls.reserve({ ...reserve, key: 'k3', expiresAt: new Date(Date.now() + 1000) })
    await calls.adopt({ scope, bucket: 'b', key: 'k4', storageKey: 's4', size: 1, createdAt: later })
    await calls.transfer({ ...reference, from: 'ann', to: 'bob' })
    const removed = await calls.remove({ ...reference, mode: 'soft' })
    const pages = [{}, { cursor: (await calls.listByScope({ scope, limit: 1 })).nextCursor }]
    for (const page of pages) {
      for (const status of [undefined, 'active', 'pending', 'deleted'] as const) {
        await calls.listByScope({ scope, status, ...page })
        await calls.listByScope({ scope, status, route: 'r', withMetadata: false, ...page })
      }
    }
    for (const only of [scope, undefined]) {
      await calls.listExpired({ scope: only })
      await calls.listLeftovers({ scope: only })
      await calls.listLeftovers({ scope: only, dueBefore: later })
      await calls.purgeExpired({ scope: only })
      await calls.purgeDeleted({ scope: only, before: later })
    }
    await calls.purgeDeleted({ id: removed!.id })
    await calls.listScopes({ after: 'a' })
    await calls.listScopes({ prefix: 's', after: 'a' })
    await calls.listStored({ bucket: 'b', limit: 1 })
    await calls.listStored({ bucket: 'b', prefix: 's', after: 's' })
    await calls.listEvents({ limit: 1 })
    await calls.claimEvents(reference)
    const claimed = await calls.claimEvents()
    await calls.extendClaims(claimed)
    await calls.settleEvents(claimed)
    await calls.deferLeftover({ attemptId: claimed[0]!.object.attemptId, until: later })
    await calls.forgetLeftover({ attemptId: claimed[0]!.object.attemptId })
  } finally {
    prepare.mock.restore()
  }
  const texts = new Set(prepare.mock.calls.map((call) => call.arguments[0]))
  assert.ok(texts.size > 50)

  const database = new DatabaseSync(path)
  const costly = () =>
    [...texts].flatMap((text) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${text}`)
        .all({})
        .map(({ detail }) => String(detail))
        .filter((detail) => /TEMP B-TREE|SCAN (?!CONSTANT)/.test(detail))
        .map((detail) => `${detail}: ${text}`),
    )
  assert.deepEqual(costly(), [])
  database.exec('ANALYZE')
  assert.deepEqual(costly(), [])
  await store.close()
})

const startWorker = (path: string, rounds: number) =>
  fork(fileURLToPath(new URL('race-worker.ts', import.meta.url)), [path, String(rounds)])

function reportOf(worker: ChildProcess): Promise<RaceReport> {
  return new Promise((resolve, reject) => {
    worker.on('message', (message: RaceReport | 'progress') => {
      if (message !== 'progress') resolve(message)
    })
    worker.on('exit', (code) => reject(new Error(`A worker exited with ${code}.`)))
  })
}

/** Several processes create the tables of one file, reserve under one quota, change the same keys and deliver events. */
void it('is exact under several processes, and after one of them is killed', async () => {
  const path = freshPath()
  const reports = await Promise.all([1, 2, 3, 4].map(() => reportOf(startWorker(path, 25))))
  const store = sqliteAdapter({ path })
  const sum = (numberOf: (report: RaceReport) => number) =>
    reports.reduce((all, one) => all + numberOf(one), 0)
  assert.equal(
    sum(({ accepted }) => accepted),
    QUOTA.maxFiles,
  )
  assert.equal((await store.getScopeUsage('crowd')).files, QUOTA.maxFiles)

  const rest: string[] = []
  for (let events; (events = await store.claimEvents()).length > 0;) {
    rest.push(...events.map(({ id }) => id))
    assert.equal((await store.settleEvents(events)).length, events.length)
  }
  const delivered = [...reports.flatMap((report) => report.delivered), ...rest]
  assert.equal(new Set(delivered).size, delivered.length)
  assert.equal(
    delivered.length,
    sum(({ changes }) => changes),
  )

  const victim = startWorker(path, Infinity)
  const ended = new Promise((resolve) => victim.on('exit', (_, signal) => resolve(signal)))
  let messages = 0
  victim.on('message', () => {
    if (++messages === 10) victim.kill('SIGKILL')
  })
  assert.equal(await ended, 'SIGKILL')
  assert.deepEqual(await store.checkUsage(), [])
  assert.deepEqual(await store.verify(), [])
  assert.equal(new DatabaseSync(path).prepare('PRAGMA integrity_check').get({})?.['integrity_check'], 'ok')
})
