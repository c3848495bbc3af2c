import { PGlite } from '@electric-sql/pglite'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, describe, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { runs } from '../../long-runs.js'

describe('PGlite', () => {
  const database = new PGlite()
  afterAll(() => database.close())
  let migrated: Promise<unknown> | undefined

  storeConformance({
    name: 'postgresAdapter on PGlite in memory',
    numRuns: runs(3, 20),
    test: { describe, it },
    async createStore({ now }) {
      const store = postgresAdapter(database, { now })
      await (migrated ??= store.migrate())
      await database.exec(
        'DELETE FROM svc_db.objects; DELETE FROM svc_db.scope_usage; DELETE FROM svc_db.leftovers',
      )
      return store
    },
  })
})
