import { postgresAdapter } from '@svc/db/postgres'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { itSavesFormsAfterCommit } from '../forms/after-commit.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { describePostgres, migratedSchema, poolOf, quoted } from './schemas.js'

// docs/forms-and-drafts.md promises this for Prisma, whose client needs programs that `prisma generate` downloads.
describePostgres('a form of an ORM that hides its connection, whose file is kept after the commit', (url) => {
  const pool = poolOf(url)
  const schema = migratedSchema(pool)
  let program: BundledWorker
  beforeAll(async () => {
    program = await bundleWorker(fileURLToPath(new URL('./saved-after-commit-process.ts', import.meta.url)))
    await pool.query(`CREATE TABLE ${quoted(schema)}.forms (file uuid PRIMARY KEY)`)
  })
  afterAll(() => program.remove())

  itSavesFormsAfterCommit({
    ...{ url, namespace: schema },
    program: () => program.file,
    open: (now) => postgresAdapter(pool, { schema, ...(now && { now }) }),
    async usedAmong(ids) {
      const { rows } = await pool.query<{ file: string }>(
        `SELECT file FROM ${quoted(schema)}.forms WHERE file = ANY ($1)`,
        [ids],
      )
      return rows.map(({ file }) => file)
    },
  })
})
