import { execFile } from 'node:child_process'
import { sqliteAdapter } from '@svc/db/sqlite'
import { afterAll, expect, it } from 'vitest'
import { databaseFolder } from './files.js'
import { FORMS, STEPS, type SavedForm, type Step } from './saved-form.js'

const MINUTE = 60_000

/** How a process saves a form that kills itself after a step, as arguments of a Node. */
export type Saving = (
  saved: SavedForm & { readonly diesAfter: Step },
) => readonly [node: string, ...args: string[]]

/** Registers tests of a process that saves a form and keeps its files, and is killed once it is as far as each step. */
export function describeSavedForms(saving: Saving): void {
  const folder = databaseFolder()
  afterAll(() => folder.drop())

  /** Stores two files that are gone in a minute. */
  async function uploaded(): Promise<SavedForm> {
    const path = await folder.migratedPath(true)
    const database = folder.handle(path)
    database.exec(FORMS)
    const store = sqliteAdapter(database)
    const scope = 'ann'
    const ids: string[] = []
    for (const key of ['a', 'b']) {
      const at = { bucket: 'files', key, scope }
      const expiresAt = new Date(Date.now() + MINUTE)
      const { id } = await store.reserve({ ...at, declaredSize: 3, expiresAt, temporarySeconds: 60 })
      await store.confirm({ ...at, id, size: 3 })
      ids.push(id)
    }
    database.close()
    return { path, form: 'form', scope, ids }
  }

  /** Resolves with the signal that ended the process, or its exit code. */
  const endOf = ([node, ...args]: readonly string[]) =>
    new Promise((resolve) => {
      execFile(node!, args).once('close', (code, signal) => resolve(signal ?? code))
    })

  it.each(STEPS)(
    'are saved with their files or not at all if the process is killed once it is %s',
    async (step) => {
      const saved = await uploaded()
      expect(await endOf(saving({ ...saved, diesAfter: step }))).toBe('SIGKILL')
      const isSaved = step === 'committed'
      const database = folder.handle(saved.path)
      expect(database.prepare('SELECT state FROM forms').all()).toEqual(isSaved ? [{ state: 'saved' }] : [])
      // By the job that comes after the end.
      const store = sqliteAdapter(database, { now: () => new Date(Date.now() + 10 * MINUTE) })
      const ended = await store.listTemporary()
      expect(ended).toHaveLength(isSaved ? 0 : 2)
      if (ended.length > 0) expect((await store.endTemporary({ objects: ended })).removed).toHaveLength(2)
      const { objects } = await store.listByScope({ scope: saved.scope, status: 'active' })
      expect(objects.map(({ temporaryUntil }) => temporaryUntil)).toEqual(isSaved ? [null, null] : [])
      expect(await store.checkUsage()).toEqual([])
      expect(await store.verify()).toEqual([])
    },
  )
}
