import { PGlite } from '@electric-sql/pglite'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { runs } from '../../long-runs.js'

describe('PGlite', () => {
  const database = new PGlite()
  afterAll(() => database.close())

  storeConformance({
    name: 'postgresAdapter on PGlite in memory',
    numRuns: runs(3, 20),
    test: { describe, it },
    async createStore({ now, events }) {
      const store = postgresAdapter(database, { now, events })
      // Turns events on or off, if the case before had them the other way.
      await store.migrate()
      const tables = ['objects', 'scope_usage', 'leftovers', 'events']
      await database.exec(tables.map((table) => `DELETE FROM svc_db.${table}`).join(';'))
      return store
    },
  })
})
