import { readFileSync } from 'node:fs'
import type { Knex } from 'knex'
import type pg from 'pg'
import type { StorageObjectStore } from '@svc/db'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

interface ReportsProgram {
  readonly pool: pg.Pool
  readonly database: Knex
  readonly store: StorageObjectStore
  readonly migrate: () => Promise<void>
  readonly largestOwners: (limit: number) => Promise<readonly object[]>
  readonly uploadsByDay: (from: Date, to: Date) => Promise<readonly object[]>
  readonly typesOf: (scope: string) => Promise<readonly object[]>
}

/** Also checks what the page says of indexes, views and triggers. */
const reports: SnippetCheck = async (program) => {
  const { pool, database, store, migrate, largestOwners, uploadsByDay, typesOf } =
    await run<ReportsProgram>(program)
  const before = new Date()
  const migrated = async () => {
    await migrate()
    expect(await store.verify()).toEqual([])
  }
  await migrated()
  await migrated()
  await pool.query(`INSERT INTO report_accounts VALUES ('rae', 'free'), ('rob', 'paid'), ('new', 'free')`)
  async function upload(scope: string, key: string, size: number, contentType: string | null) {
    const at = { bucket: 'reports', key: `${scope}/${key}`, scope }
    const expiresAt = new Date(Date.now() + 60_000)
    const { id } = await store.reserve({ ...at, declaredSize: size, contentType, expiresAt, overwrite: true })
    await store.confirm({ ...at, id, size })
    return at
  }
  await upload('user:rae', 'a', 5, 'image/png')
  const replaced = await upload('user:rae', 'b', 2, 'image/png')
  await upload('user:rae', 'b', 3, null)
  await upload('user:rob', 'a', 9_000_000_000, 'video/mp4')
  await store.remove(await upload('user:rob', 'gone', 1, null))

  expect(await largestOwners(5)).toEqual([
    { id: 'rob', plan: 'paid', bytes: 9_000_000_000, files: 1 },
    { id: 'rae', plan: 'free', bytes: 8, files: 2 },
  ])
  expect(await typesOf('user:rae')).toEqual([
    { type: 'image/png', files: 1 },
    { type: null, files: 1 },
  ])
  const days = (await uploadsByDay(before, new Date(Date.now() + 60_000))) as {
    uploads: number
    bytes: number
  }[]
  const sum = (of: (day: (typeof days)[number]) => number) => days.reduce((total, day) => total + of(day), 0)
  // Other programs may store files meanwhile.
  expect(sum(({ uploads }) => uploads)).toBeGreaterThanOrEqual(3)
  expect(sum(({ bytes }) => bytes)).toBeGreaterThanOrEqual(9_000_000_008)

  await store.transfer({ ...replaced, from: 'user:rae', to: 'user:new' })
  const { rows } = await pool.query(
    `SELECT scope FROM report_first_uploads WHERE scope LIKE 'user:r__' ORDER BY 1`,
  )
  expect(rows).toEqual([{ scope: 'user:rae' }, { scope: 'user:rob' }])
  expect(await store.checkUsage()).toEqual([])

  const document = readFileSync(new URL('../../../../docs/reports.md', import.meta.url), 'utf8')
  const table = document.slice(document.indexOf('| column'), document.indexOf('`scope_usage`'))
  const columns = [...table.matchAll(/^\| ((?:`\w+`,? ?)+)/gm)].flatMap(([, names]) => names!.match(/\w+/g)!)
  expect(columns).toHaveLength(17)
  await pool.query(`SELECT ${columns.join(', ')} FROM svc_db.objects LIMIT 0`)
  const role = /```sql\n([^`]+)```/.exec(document)![1]!
  // `BEGIN`, because roles belong to the whole server.
  await pool.query(`BEGIN; ${role} SET LOCAL ROLE analyst; SELECT id FROM report_files; ROLLBACK`)
  const forbidden = pool.query(`BEGIN; ${role} SET LOCAL ROLE analyst; SELECT id FROM svc_db.objects`)
  await expect(forbidden).rejects.toThrow('permission denied')

  // What it throws undoes the write.
  await pool.query('ALTER TABLE report_first_uploads RENAME TO away')
  await expect(upload('user:rex', 'a', 1, null)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  expect(await store.countByScope('user:rex', 'active')).toBe(0)
  await pool.query(`DROP TRIGGER report_first_upload ON svc_db.objects; DROP INDEX svc_db.report_uploads;
    DROP VIEW report_files`)
  await database.destroy()
  await pool.end()
}

export const reportsChecks: SnippetChecks = {
  'docs/reports.md#reports.ts': { onPostgres: reports },
}
