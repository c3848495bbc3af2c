import { PGlite } from '@electric-sql/pglite'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { groupsOnce, isLongLists } from '../../conformance-groups.js'
import { runs } from '../../long-runs.js'

describe('PGlite', () => {
  const database = new PGlite()
  afterAll(() => database.close())
  const migrated = new Set<string>()

  storeConformance({
    name: 'postgresAdapter on PGlite in memory',
    numRuns: runs(2, 4),
    // The statements are those of a server, where `npm test` tests long lists.
    test: groupsOnce(isLongLists),
    async createStore({ now, events }) {
      const schema = events ? 'with_events' : 'without_events'
      const store = postgresAdapter(database, { schema, now, events })
      if (!migrated.has(schema)) await store.migrate()
      migrated.add(schema)
      for (const table of ['objects', 'scope_usage', 'leftovers', 'events']) {
        await database.exec(`DELETE FROM ${schema}.${table}`)
      }
      return store
    },
  })
})
