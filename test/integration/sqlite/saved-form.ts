import type { StorageObjectStore } from '@svc/db'
import { sqliteAdapter } from '@svc/db/sqlite'
import Database from 'better-sqlite3'
import { eq } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'

/** What a form is saved with: a row of the application, and the end of its files. */
export interface SavedForm {
  readonly path: string
  readonly form: string
  readonly scope: string
  readonly ids: readonly string[]
}

/** The steps, in order. The first one follows BEGIN. */
export const STEPS = ['begun', 'inserted', 'kept', 'completed', 'committed'] as const
export type Step = (typeof STEPS)[number]

/** Called between two statements. */
export type Between = (step: Step) => void

/** Saves a form in one transaction. */
export type Save = (saved: SavedForm, between: Between) => Promise<void>

export const FORMS = 'CREATE TABLE forms (id TEXT PRIMARY KEY, state TEXT NOT NULL)'
export const INSERT = `INSERT INTO forms VALUES (?, 'new')`
export const COMPLETE = `UPDATE forms SET state = 'saved' WHERE id = ?`

const forms = sqliteTable('forms', { id: text().primaryKey(), state: text().notNull() })

export const keep = (store: StorageObjectStore, { scope, ids }: SavedForm) =>
  store.keep({ scope, objects: ids.map((id) => ({ id })) })

/** With better-sqlite3, in a synchronous `transaction()` and as docs/sqlite.md shows, which waits for `keep`. */
export const LIBRARIES: Readonly<Record<string, Save>> = {
  async 'transaction() of better-sqlite3'(saved, between) {
    const database = new Database(saved.path)
    const store = sqliteAdapter(database, { join: true })
    let kept: Promise<unknown> | undefined
    const save = database.transaction(() => {
      between('begun')
      database.prepare(INSERT).run(saved.form)
      between('inserted')
      kept = keep(store, saved)
      between('kept')
      database.prepare(COMPLETE).run(saved.form)
      between('completed')
    })
    save()
    between('committed')
    await kept
  },

  async 'transaction() of drizzle'(saved, between) {
    const database = new Database(saved.path)
    const store = sqliteAdapter(database, { join: true })
    let kept: Promise<unknown> | undefined
    drizzle(database).transaction((tx) => {
      between('begun')
      tx.insert(forms).values({ id: saved.form, state: 'new' }).run()
      between('inserted')
      kept = keep(store, saved)
      between('kept')
      tx.update(forms).set({ state: 'saved' }).where(eq(forms.id, saved.form)).run()
      between('completed')
    })
    between('committed')
    await kept
  },

  async 'BEGIN and COMMIT'(saved, between) {
    const database = new Database(saved.path)
    const store = sqliteAdapter(database, { join: true })
    database.exec('BEGIN IMMEDIATE')
    between('begun')
    database.prepare(INSERT).run(saved.form)
    between('inserted')
    await keep(store, saved)
    between('kept')
    database.prepare(COMPLETE).run(saved.form)
    between('completed')
    database.exec('COMMIT')
    between('committed')
  },
}
