import { mongoAdapter } from '@svc/db/mongo'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll } from 'vitest'
import { itSavesFormsAfterCommit } from '../forms/after-commit.js'
import { bundleWorker, type BundledWorker } from '../races/bundled-worker.js'
import { clientOf, describeMongo, freshDatabase } from './databases.js'

// docs/forms-and-drafts.md promises this.
describeMongo('a form of mongoose, whose file is kept after the commit', (url) => {
  const client = clientOf(url)
  const db = freshDatabase(client)
  const forms = db.collection<{ files: string[] }>('forms')
  let program: BundledWorker
  beforeAll(async () => {
    program = await bundleWorker(fileURLToPath(new URL('./saved-form-process.ts', import.meta.url)))
    await mongoAdapter(db).migrate()
  })
  afterAll(async () => {
    program.remove()
    await db.dropDatabase()
    await client.close()
  })

  itSavesFormsAfterCommit({
    url,
    namespace: db.databaseName,
    program: () => program.file,
    open: (now) => mongoAdapter(db, { ...(now && { now }) }),
    usedAmong: async (ids) =>
      (await forms.find({ files: { $in: ids } }).toArray()).flatMap(({ files }) => files),
  })
})
