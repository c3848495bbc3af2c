import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { storeConformance } from '@svc/db/conformance'
import { sqliteAdapter } from '../../../examples/sqlite-adapter/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'sqlite-adapter-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0

storeConformance({
  name: 'sqliteAdapter',
  async createStore({ now, events }) {
    const store = sqliteAdapter({ path: join(folder, `${files++}.db`), now, events })
    await store.migrate()
    return store
  },
  close: (store) => store.close(),
  test: { describe, it },
  numRuns: Number(process.env['RUNS'] ?? 100),
})
