import type { StorageObjectStore } from '@svc/db'
import { sqliteAdapter, type SqliteDatabase } from '@svc/db/sqlite'
import { afterAll, expect, it } from 'vitest'
import { databaseFolder } from './files.js'

const folder = databaseFolder()
afterAll(() => folder.drop())

const later = new Date('2100-01-01')
const expiresAt = new Date(Date.now() + 3_600_000)

/** Makes each kind of call, in each of its shapes. */
async function callEverything(store: StorageObjectStore): Promise<void> {
  const [reference, scope] = [{ bucket: 'b', key: 'k' }, 'ann']
  const reserve = { ...reference, scope, declaredSize: 3, expiresAt }
  for (let round = 0; round < 2; round++) {
    const attempt = { overwrite: true, uploadId: 'u', storageKey: `s${round}` }
    const { id } = await store.reserve({ ...reserve, ...attempt })
    await store.find({ ...reference, scope })
    await store.findPending({ ...reference, id })
    await store.findPendingMultipart({ ...reference, fileSize: 3 })
    await store.confirm({ ...reference, id, size: 3 })
    await store.update({ ...reference, filename: `f${round}`, temporarySeconds: 60 })
    await store.findById({ id, scope })
    await store.keep({ scope, objects: [{ id }] })
  }
  await store.findActive(reference)
  await store.reserve({ ...reserve, key: 'k2', uploadId: 'u' })
  const checked = await store.reserve({ ...reserve, key: 'k3', storageKey: 's3', checkSeconds: 60 })
  await store.confirm({ bucket: 'b', key: 'k3', id: checked.id, size: 3 })
  await store.reject({ bucket: 'b', key: 'k3', id: checked.id })
  await store.confirm({ bucket: 'b', key: 'k3', id: checked.id, size: 3 }).catch(() => {})
  await store.adopt({ scope, bucket: 'b', key: 'k4', storageKey: 's4', size: 1, createdAt: new Date() })
  await store.transfer({ ...reference, from: 'ann', to: 'bob' })
  const removed = await store.remove({ ...reference, mode: 'soft' })
  for (const cursor of [undefined, (await store.listByScope({ scope, limit: 1 })).nextCursor]) {
    for (const status of [undefined, 'active', 'pending', 'deleted'] as const) {
      await store.listByScope({ scope, status, cursor })
      await store.listByScope({ scope, status, cursor, route: 'r', withMetadata: false })
    }
  }
  await store.countByScope(scope)
  for (const only of [scope, undefined]) {
    await store.listExpired({ scope: only })
    await store.listArrived({ scope: only })
    await store.listTemporary({ scope: only })
    await store.listLeftovers({ scope: only })
    await store.listLeftovers({ scope: only, dueBefore: later })
    await store.purgeExpired({ scope: only })
    await store.purgeDeleted({ scope: only, before: later })
  }
  await store.purgeDeleted({ id: removed!.id })
  await store.listScopes({ after: 'a' })
  await store.listScopes({ prefix: 's', after: 'a' })
  await store.listStored({ bucket: 'b', limit: 1 })
  await store.listStored({ bucket: 'b', prefix: 's', after: 's' })
  await store.listEvents({ limit: 1 })
  await store.claimEvents(reference)
  const claimed = await store.claimEvents()
  await store.extendClaims(claimed)
  await store.settleEvents(claimed)
  await store.deferLeftover({ attemptId: removed!.attemptId, until: later })
  await store.forgetLeftover({ attemptId: removed!.attemptId })
  await store.checkUsage('ann')
}

it('prepares each statement once, which reads only what it returns, with and without statistics', async () => {
  const database = folder.handle(await folder.migratedPath(true))
  const prepared: string[] = []
  const recording: SqliteDatabase = {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      prepared.push(sql)
      return database.prepare(sql)
    },
  }
  const store = sqliteAdapter(recording)
  await callEverything(store)
  await callEverything(store)
  const texts = [...new Set(prepared)]
  expect(prepared).toHaveLength(texts.length)
  expect(texts.length).toBeGreaterThan(70)

  const planned = texts.filter((text) => /^\s*(?:SELECT|INSERT|UPDATE|DELETE)/.test(text))
  const costly = () =>
    planned.flatMap((text) => {
      const steps = database.prepare(`EXPLAIN QUERY PLAN ${text}`)
      const count = text.split('?').length - 1
      return (steps.all(...Array.from({ length: count }, () => null)) as { detail: string }[])
        .map(({ detail }) => detail)
        .filter((detail) =>
          /TEMP B-TREE|SCAN (?!CONSTANT|svc_db_schema_version|sqlite_schema|pragma_)/.test(detail),
        )
        .map((detail) => `${detail}: ${text}`)
    })
  expect(costly()).toEqual([])
  database.exec('ANALYZE')
  expect(costly()).toEqual([])
})
