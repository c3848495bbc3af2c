import {
  createAttemptId,
  type ImportObjectsResult,
  type ObjectStorage,
  type StorageObjectStore,
} from '@svc/db'
import type pg from 'pg'
import { expect, vi } from 'vitest'
import { createDatabase } from '../../../servers/fresh-database.js'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'

interface OwnTableProgram {
  readonly pool: pg.Pool
  readonly storage: ObjectStorage
  readonly store: StorageObjectStore
  readonly adoptRows: () => Promise<number>
  readonly checkRows: () => Promise<{
    readonly without: readonly { readonly id: string }[]
    readonly shared: readonly { readonly path: string; readonly owners: readonly string[] }[]
  }>
  readonly filesWithoutRow: () => Promise<string[]>
  readonly importRest: () => Promise<ImportObjectsResult>
}

interface OwnRow {
  readonly id: number
  readonly owner: string | null
  readonly path: string | null
  readonly name: string | null
  readonly type: string | null
  readonly createdAt: Date
}

const bucket = 'attachments'
const ROUNDS = 50
const TYPE_IN_BUCKET = 'text/x-bucket'
const FACE = '\u{1F600}'

/** How the last rows of each twenty differ from usual ones. The first two rows of the twenty are usual, and older. */
const ODD: Readonly<Record<string, (row: OwnRow, twenty: readonly OwnRow[]) => Partial<OwnRow>>> = {
  'no file': () => ({}),
  'in progress': () => ({}),
  'dot segment': ({ id }) => ({ path: `users/../${id}` }),
  'no path': () => ({ path: null }),
  'no owner': () => ({ owner: null }),
  'same file': (_, [first]) => ({ path: first!.path, owner: first!.owner }),
  'shared file': (_, [, second]) => ({ path: second!.path, owner: `${second!.owner}0` }),
  'empty name': () => ({ name: '' }),
  'no name': () => ({ name: null }),
  'long name': () => ({ name: FACE.repeat(1025) }),
  'empty type': () => ({ type: '' }),
  'no type': () => ({ type: null }),
  'other type': () => ({ type: 'jpeg' }),
  'type with a parameter': () => ({ type: 'text/csv; charset=utf-8' }),
}
const KINDS = Object.keys(ODD)
const USUAL = 20 - KINDS.length

/** Returns the rows by what is odd about them. */
function rowsByKind(): ReadonlyMap<string, readonly OwnRow[]> {
  const rows = Array.from({ length: ROUNDS * 20 }, (_, id): OwnRow => {
    const owner = String(1 + (id % 7))
    const createdAt = new Date(Date.UTC(2015, 0, 1) + id * 60_000)
    return { id, owner, path: `users/${owner}/${id}`, name: `Name ${id}`, type: 'image/png', createdAt }
  })
  const kinds = new Map<string, OwnRow[]>()
  for (const row of rows) {
    const kind = KINDS[(row.id % 20) - USUAL] ?? 'usual'
    const twenty = rows.slice(row.id - (row.id % 20))
    kinds.set(kind, [...(kinds.get(kind) ?? []), { ...row, ...ODD[kind]?.(row, twenty) }])
  }
  return kinds
}

/** Runs the page's functions in order over 1000 rows, of which 50 are of each kind, and 15 files without a row. */
const takesOver: SnippetCheck = async (program) => {
  const shared = process.env['DATABASE_URL']!
  const database = await createDatabase(shared)
  vi.stubEnv('DATABASE_URL', database.url)
  const own = await run<OwnTableProgram>(program)
  vi.stubEnv('DATABASE_URL', shared)
  try {
    await expectToTakeOver(own)
  } finally {
    await own.pool.end()
    await database.drop()
  }
}

async function expectToTakeOver(own: OwnTableProgram): Promise<void> {
  const { pool, storage, store } = own
  const kinds = rowsByKind()
  const of = (...names: string[]) => names.flatMap((name) => kinds.get(name)!)
  const pathsOf = (...names: string[]) => of(...names).map(({ path }) => path!)
  const rest = Array.from({ length: 15 }, (_, index) => `${index < 10 ? 'users/3' : 'logs'}/rest-${index}`)
  const rows = of('usual', ...KINDS)
  await store.migrate()
  await pool.query(`CREATE TABLE attachments (
    id int PRIMARY KEY, owner_id text, path text, name text, type text, created_at timestamptz, object_id uuid)`)
  await pool.query(
    `INSERT INTO attachments SELECT id, owner, path, name, type, "createdAt"
     FROM json_to_recordset($1) AS _(id int, owner text, path text, name text, type text, "createdAt" timestamptz)`,
    [JSON.stringify(rows)],
  )
  const withFile = rows.filter(({ path }) => path !== null && !pathsOf('no file').includes(path))
  for (const key of new Set([...withFile.map(({ path }) => path!), ...rest])) {
    const body = new TextEncoder().encode(key)
    await storage.write!({ bucket, key, body, contentType: TYPE_IN_BUCKET, attemptId: createAttemptId() })
  }
  for (const { owner, path } of of('in progress')) {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const at = { bucket, key: path!, storageKey: `${path}~` }
    await store.reserve({ ...at, scope: `user:${owner}`, declaredSize: 1, expiresAt })
  }

  const printed = vi.spyOn(console, 'log').mockReturnValue()
  const without = of('no file', 'in progress', 'dot segment', 'no path', 'no owner')
  const doubles = of('same file', 'shared file')
  expect(await own.adoptRows()).toBe(rows.length - without.length - doubles.length)
  const reasons = {
    'no file': 'has no file',
    'in progress': 'The key is already in use.',
    'dot segment': 'gets no URL: copy the file to another key',
  }
  const lines = Object.entries(reasons).flatMap(([kind, reason]) =>
    pathsOf(kind).map((path) => `${path}: ${reason}`),
  )
  expect(printed.mock.calls.flat().sort()).toEqual(lines.sort())

  const checked = await own.checkRows()
  expect(new Set(checked.without.map(({ id }) => id))).toEqual(new Set(without.map(({ id }) => id)))
  const owners = new Map(checked.shared.map((row) => [row.path, row.owners.join()]))
  for (const { path, owner } of of('same file')) expect(owners.get(path!)).toBe(owner)
  for (const { path, owner } of of('shared file'))
    expect(owners.get(path!)).toBe(`${owner!.slice(0, -1)},${owner}`)
  expect(owners.size).toBe(doubles.length)
  const unrecorded = [...pathsOf('in progress', 'dot segment', 'no owner'), ...rest]
  expect((await own.filesWithoutRow()).sort()).toEqual(unrecorded.sort())

  const reported = vi.spyOn(console, 'error').mockReturnValue()
  const { failed, ...counts } = await own.importRest()
  // They fail for one reason.
  expect(reported).toHaveBeenCalledTimes(1)
  const adopted = rows.length - without.length - doubles.length
  expect(counts).toMatchObject({ imported: 60, known: adopted, differs: adopted, skipped: 55 })
  expect(failed.map(({ key }) => key).sort()).toEqual(pathsOf('in progress').sort())
  expect(await own.adoptRows()).toBe(0)
  expect(await store.checkUsage()).toEqual([])
  await expectObjects(own, rows, without)
}

/** Expects the object of each row to have what the oldest row of its file says. */
async function expectObjects(
  { pool, store }: OwnTableProgram,
  rows: readonly OwnRow[],
  without: readonly OwnRow[],
): Promise<void> {
  const noted = await pool.query<{ id: number; object_id: string }>('SELECT id, object_id FROM attachments')
  const objectIds = new Map(noted.rows.map(({ id, object_id }) => [id, object_id]))
  for (const { id, path } of rows.filter((row) => !without.includes(row))) {
    const { owner, name, type, createdAt, ...oldest } = rows.find((row) => row.path === path)!
    expect(await store.findById({ id: objectIds.get(id)! })).toMatchObject({
      ...{ scope: `user:${owner}`, key: path, storageKey: path, createdAt, size: oldest.path!.length },
      filename: name === FACE.repeat(1025) ? FACE.repeat(1024) : name || null,
      contentType: type?.includes('/') ? type : TYPE_IN_BUCKET,
    })
  }
}

export const ownTableChecks: SnippetChecks = {
  'docs/own-table.md#own-table.ts': { onPostgres: takesOver },
}
