import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { startPrivateCluster } from '../../servers/private-cluster.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { LIBRARIES, STEPS, type SavedForm } from './saved-form.js'
import { describePrivatePostgres, freshSchema, poolOf } from './schemas.js'

const MINUTE = 60_000
/** A hundred kills in all. */
const TWICE = { repeats: 1 }

// docs/forms-and-drafts.md promises this.
describePrivatePostgres('a form and the end of its file, in one transaction', (programs) => {
  let server: Awaited<ReturnType<typeof startPrivateCluster>>
  let program: BundledWorker
  const schema = freshSchema()
  let count = 0
  beforeAll(async () => {
    server = await startPrivateCluster(programs)
    program = await bundleWorker(fileURLToPath(new URL('./saved-form-process.ts', import.meta.url)))
    await withPool(async (pool) => {
      await postgresAdapter(pool, { schema, events: true }).migrate()
      await pool.query('CREATE TABLE forms (id text PRIMARY KEY, state text NOT NULL)')
    })
  })
  afterAll(async () => {
    program.remove()
    await server.remove()
  })

  /** Uses a new pool, because a crash breaks the connections of an older one. */
  async function withPool<T>(use: (pool: ReturnType<typeof poolOf>) => Promise<T>): Promise<T> {
    const pool = poolOf(server.cluster.url)
    return use(pool).finally(() => pool.end())
  }

  /** Stores a file that is gone in a minute. */
  const uploaded = () =>
    withPool(async (pool): Promise<SavedForm & { readonly key: string }> => {
      const store = postgresAdapter(pool, { schema })
      const at = { bucket: 'files', key: `form-${++count}`, scope: `user:${count}` }
      const expiresAt = new Date(Date.now() + MINUTE)
      const { id } = await store.reserve({ ...at, declaredSize: 3, expiresAt, temporarySeconds: 60 })
      await store.confirm({ ...at, id, size: 3 })
      return { url: server.cluster.url, schema, form: at.key, id, ...at }
    })

  /** Expects that the form and its file are saved or that neither is, also by the job after the end. */
  const expectBothOrNeither = (saved: SavedForm & { readonly key: string }, isSaved: boolean) =>
    withPool(async (pool) => {
      const store = postgresAdapter(pool, { schema, now: () => new Date(Date.now() + 10 * MINUTE) })
      // Waits until the backend of a killed process has ended its transaction.
      const open =
        'SELECT FROM pg_stat_activity WHERE xact_start IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()'
      await expect.poll(async () => (await pool.query(open)).rowCount).toBe(0)
      const { rows } = await pool.query<{ state: string }>('SELECT state FROM forms WHERE id = $1', [
        saved.form,
      ])
      expect(rows).toEqual(isSaved ? [{ state: 'saved' }] : [])
      const ended = await store.listTemporary({ scope: saved.scope })
      expect(ended).toHaveLength(isSaved ? 0 : 1)
      if (ended.length > 0) expect((await store.endTemporary({ objects: ended })).removed).toHaveLength(1)
      const row = await store.findActive({ bucket: 'files', key: saved.key })
      expect(row?.temporaryUntil).toBe(isSaved ? null : undefined)
      expect(await store.checkUsage()).toEqual([])
    })

  /** Saves the form in another process. Returns the signal that ended it, or its exit code. */
  const endOf = (task: object) =>
    new Promise((resolve) => {
      const child = execFile(process.execPath, [program.file, JSON.stringify(task)])
      child.once('close', (code, signal) => resolve(signal ?? code))
    })

  describe.each(Object.keys(LIBRARIES))('with %s', (library) => {
    it.each(STEPS)(
      'is saved as a whole or not at all if the process is killed once it is %s',
      TWICE,
      async (diesAfter) => {
        const saved = await uploaded()
        expect(await endOf({ ...saved, library, diesAfter, victim: 'process' })).toBe('SIGKILL')
        await expectBothOrNeither(saved, diesAfter === 'committed')
      },
    )

    it.each(STEPS)(
      'is saved as a whole or not at all if its backend is killed once it is %s',
      TWICE,
      async (diesAfter) => {
        const saved = await uploaded()
        const isSaved = diesAfter === 'committed'
        const code = await endOf({ ...saved, library, diesAfter, victim: 'backend' })
        if (!isSaved) expect(code).toBe(1)
        // Postgres ends all sessions and recovers.
        await expect
          .poll(() =>
            withPool((pool) => pool.query('SELECT')).then(
              () => true,
              () => false,
            ),
          )
          .toBe(true)
        await expectBothOrNeither(saved, isSaved)
      },
    )
  })
})
