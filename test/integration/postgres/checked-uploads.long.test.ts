import { postgresAdapter } from '@svc/db/postgres'
import { afterEach, it } from 'vitest'
import { checkRaces } from '../../unit/server/checks/races.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

describePostgres('checked uploads', (url) => {
  const pool = poolOf(url)
  const schemas: string[] = []
  afterEach(async () => {
    for (const schema of schemas.splice(0)) await dropSchema(pool, schema)
  })

  it('verdicts and jobs at once show and lose nothing', async () => {
    await checkRaces(200, async ({ now }) => {
      const schema = freshSchema()
      schemas.push(schema)
      const store = postgresAdapter(pool, { schema, events: true, now })
      await store.migrate()
      return store
    })
  })
})
