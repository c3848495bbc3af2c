import { DatabaseSync } from 'node:sqlite'
import { sqliteAdapter } from '@svc/db/sqlite'

/** Saves a form with `node:sqlite`, and kills itself after one of the steps. Without imports of packages that this Node can't load. */
interface Task {
  readonly path: string
  readonly form: string
  readonly scope: string
  readonly ids: readonly string[]
  readonly diesAfter: string
}

const { path, form, scope, ids, diesAfter } = JSON.parse(process.argv[2]!) as Task
const between = (step: string) => {
  if (step === diesAfter) process.kill(process.pid, 'SIGKILL')
}

const database = new DatabaseSync(path)
const store = sqliteAdapter(database, { join: true })
database.exec('BEGIN IMMEDIATE')
between('begun')
database.prepare(`INSERT INTO forms VALUES (?, 'new')`).run(form)
between('inserted')
await store.keep({ scope, objects: ids.map((id) => ({ id })) })
between('kept')
database.prepare(`UPDATE forms SET state = 'saved' WHERE id = ?`).run(form)
between('completed')
database.exec('COMMIT')
between('committed')
