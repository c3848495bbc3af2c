import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StorageObjectStore } from '@svc/db'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'
import { expect } from 'vitest'
import { run, type SnippetCheck, type SnippetChecks } from '../programs.js'
import { uploadTo } from '../store-programs.js'

/** Runs a check with a database file of its own, which `DATABASE_FILE` names. */
export const withFile =
  (check: (program: string, file: string) => Promise<void>): SnippetCheck =>
  async (program) => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-db-snippet-'))
    const file = join(folder, 'data.db')
    process.env['DATABASE_FILE'] = file
    try {
      await check(program, file)
    } finally {
      delete process.env['DATABASE_FILE']
      rmSync(folder, { recursive: true, force: true })
    }
  }

interface DatabaseProgram {
  readonly database: Database.Database
  readonly client: StorageObjectStore
}

const keepsRecords = withFile(async (program, file) => {
  const { database, client } = await run<DatabaseProgram>(program)
  expect(database.name).toBe(file)
  await uploadTo(client, 'plain')
  database.close()
})

/** The Node that runs the tests may lack `node:sqlite`. The suite runs on it under others, in test/package/sqlite. */
const loadsBuiltIn = withFile(async (program) => {
  const hasIt =
    process.getBuiltinModule !== undefined && process.getBuiltinModule('node:sqlite') !== undefined
  if (hasIt) await uploadTo((await run<DatabaseProgram>(program)).client, 'built-in')
  else await expect(run(program)).rejects.toThrow('node:sqlite')
})

interface NotesProgram {
  readonly saveNote: (file: string, scope: string, text: string, files: readonly string[]) => Promise<void>
}

/** Expects that a function saves a note with its file, or neither. */
async function expectBothOrNeither(
  file: string,
  save: (database: Database.Database, scope: string, files: readonly string[]) => Promise<void>,
): Promise<void> {
  const database = new Database(file)
  const store = sqliteAdapter(database)
  await store.migrate()
  database.exec('CREATE TABLE notes (text TEXT)')
  const expiresAt = new Date(Date.now() + 3_600_000)
  const reference = { bucket: 'b', key: 'k' }
  const { id } = await store.reserve({
    ...{ scope: 'ann', ...reference, declaredSize: 1, expiresAt, temporarySeconds: 60 },
  })
  await store.confirm({ ...reference, id, size: 1 })
  await expect(save(database, 'bob', [id])).rejects.toMatchObject({ code: 'OBJECT_NOT_FOUND' })
  const notes = () => database.prepare('SELECT count(*) FROM notes').pluck().get()
  expect(notes()).toBe(0)
  await save(database, 'ann', [id])
  expect(notes()).toBe(1)
  expect(await store.findActive(reference)).toMatchObject({ temporaryUntil: null })
  database.close()
}

const savesBothOrNeither = withFile(async (program, file) => {
  const { saveNote } = await run<NotesProgram>(program)
  await expectBothOrNeither(file, (_, scope, files) => saveNote(file, scope, 'a note', files))
})

interface NotesAtOnceProgram {
  readonly saveNote: (
    database: Database.Database,
    scope: string,
    text: string,
    files: readonly string[],
  ) => Promise<void>
}

const savesBothOrNeitherAtOnce = withFile(async (program, file) => {
  const { saveNote } = await run<NotesAtOnceProgram>(program)
  await expectBothOrNeither(file, (database, scope, files) => saveNote(database, scope, 'a note', files))
})

export const sqliteChecks: SnippetChecks = {
  'docs/sqlite.md#database.ts': keepsRecords,
  'docs/sqlite.md#node-database.ts': loadsBuiltIn,
  'docs/sqlite.md#save-note.ts': savesBothOrNeither,
  'docs/sqlite.md#save-note-at-once.ts': savesBothOrNeitherAtOnce,
}
