import type { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import { expect, vi } from 'vitest'
import { createS3Server, db, memoryStorage, type S3ServerCore, type StorageObjectStore } from '@svc/db'
import { memoryAdapter } from '@svc/db/memory'
import { createDatabase } from '../../../servers/fresh-database.js'
import { run, runSibling, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { migratesAndEnds, uploadTo } from '../store-programs.js'

interface DatabaseProgram {
  readonly pool: pg.Pool
  readonly store: StorageObjectStore
}

const keepsRecords =
  (scope: string): SnippetCheck =>
  async (program) => {
    const { store, pool } = await run<DatabaseProgram>(program)
    expect(pool.listenerCount('error')).toBeGreaterThan(0)
    await store.migrate()
    await uploadTo(store, scope)
  }

const failsUntilMigrated: SnippetCheck = async (program) => {
  const { store, pool } = await runSibling<DatabaseProgram>(program, 'database.mjs')
  await store.migrate()
  await pool.query('ALTER TABLE svc_db.leftovers RENAME TO mislaid')
  await expect(run(program)).rejects.toThrow('Missing: column leftovers.')
  await pool.query('ALTER TABLE svc_db.mislaid RENAME TO leftovers')
}

const printsWhatMigrateDoes: SnippetCheck = async (program) => {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  await run(program)
  const sql = write.mock.calls.map(([text]) => String(text)).join('')
  const { store } = await runSibling<DatabaseProgram>(program, 'database.mjs')
  const database = await createDatabase(process.env['DATABASE_URL']!)
  try {
    await database.query(sql)
    const { rows } = await database.query('SELECT version FROM svc_db.schema_version')
    expect(rows).toEqual([{ version: (await store.migrate()).to }])
  } finally {
    await database.drop()
  }
}

const needsNoNamedStatements: SnippetCheck = async (program) => {
  await keepsRecords('pooled')(program)
  const { pool } = await run<DatabaseProgram>(program)
  expect((await pool.query('SELECT name FROM pg_prepared_statements')).rows).toEqual([])
}

const listsFromReplica: SnippetCheck = async (program) => {
  await keepsRecords('replicated')(program)
  const { store, readPool } = await run<DatabaseProgram & { readPool: pg.Pool }>(program)
  expect(readPool.totalCount).toBe(0)
  expect((await store.listByScope({ scope: 'replicated' })).objects).toHaveLength(1)
  expect(readPool.totalCount).toBe(1)
}

const keepsFolder: SnippetCheck = async (program) => {
  const { database, store } = await run<{ database: PGlite; store: StorageObjectStore }>(program)
  await uploadTo(store, 'embedded')
  expect(database.dataDir).toBe(process.env['DATA_FOLDER'])
  await database.close()
}

interface TenantProgram {
  readonly eraseTenant: (
    s3: S3ServerCore,
    store: StorageObjectStore,
    tenant: string,
    signal?: AbortSignal,
  ) => Promise<number>
}

/** Erases more scopes than a page has, which leave the list meanwhile, and nothing of those beside them. */
export const erasesTenant: SnippetCheck = async (program) => {
  const { eraseTenant } = await run<TenantProgram>(program)
  const store = memoryAdapter()
  const s3 = createS3Server({
    storage: memoryStorage(),
    bucket: 'uploads',
    plugins: [db({ client: store, resolveScope: () => null })],
  })
  const others = ['acme', 'acme2:ann', 'acme9', 'acme;', 'beta:acme:ann']
  const own = Array.from({ length: 1001 }, (_, number) => `acme:${number}`)
  for (const scope of [...own, ...others]) await s3.files.put({ scope, body: 'text', filename: 'a.txt' })

  const stopped = eraseTenant(s3, store, 'acme', AbortSignal.abort())
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' })
  expect(await eraseTenant(s3, store, 'acme')).toBe(0)
  expect((await store.listScopes()).map(({ scope }) => scope)).toEqual(others)
  for (const scope of others) {
    const [object] = (await store.listByScope({ scope })).objects
    expect(await new Response((await s3.files.get(object!)).body).text()).toBe('text')
  }
}

export const postgresChecks: SnippetChecks = {
  'docs/postgres.md#database.ts': { onPostgres: keepsRecords('plain') },
  'docs/postgres.md#migrate.ts': { onPostgres: migratesAndEnds('schema was') },
  'docs/postgres.md#start.ts': { onPostgres: failsUntilMigrated },
  'docs/postgres.md#print-schema.ts': { onPostgres: printsWhatMigrateDoes },
  'docs/postgres.md#pooled-database.ts': { onPostgres: needsNoNamedStatements },
  'docs/postgres.md#replicated-database.ts': { onPostgres: listsFromReplica },
  'docs/postgres.md#embedded-database.ts': keepsFolder,
}
