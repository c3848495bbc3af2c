import { randomBytes } from 'node:crypto'
import { postgresAdapter } from '@svc/db/postgres'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe } from 'vitest'
import { findEnvironment } from '../../package/environments.js'
import { itSavesFormsAfterCommit } from '../forms/after-commit.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { generatePrismaClient, NOTE_TABLES } from './generated-prisma-client.js'
import { describePostgres, dropSchema, poolOf } from './schemas.js'

const { path, skipped } = await findEnvironment('prisma')

describe.skipIf(path === null)(`Prisma${skipped}`, () => {
  describePostgres('a form of Prisma, whose file is kept after the commit', (url) => {
    const pool = poolOf(url)
    // Prisma doesn't quote the name of a schema.
    const schema = `prisma_${randomBytes(6).toString('hex')}`
    let client: Awaited<ReturnType<typeof generatePrismaClient>>
    let program: BundledWorker
    beforeAll(async () => {
      client = await generatePrismaClient(path!)
      const entry = fileURLToPath(new URL('./saved-with-prisma-process.ts', import.meta.url))
      program = await bundleWorker(entry, { 'generated-prisma-client': client.file })
      await postgresAdapter(pool, { schema }).migrate()
      await pool.query(`SET search_path = ${schema}; ${NOTE_TABLES}; RESET search_path`)
    })
    afterAll(async () => {
      program.remove()
      client.remove()
      await dropSchema(pool, schema)
      await pool.end()
    })

    itSavesFormsAfterCommit({
      ...{ url, namespace: schema },
      program: () => program.file,
      open: (now) => postgresAdapter(pool, { schema, ...(now && { now }) }),
      async usedAmong(ids) {
        const { rows } = await pool.query<{ objectId: string }>(
          `SELECT "objectId" FROM ${schema}."NoteFile" WHERE "objectId" = ANY ($1)`,
          [ids],
        )
        return rows.map(({ objectId }) => objectId)
      },
    })
  })
})
