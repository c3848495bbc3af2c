import { afterAll, it, onTestFinished } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { expectDeliveryByAll } from '../races/delivery-race.js'
import { expectTroublesToBeBounded } from '../races/delivery-trouble.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'

describePostgres('deliverEvents in several processes', (url) => {
  const pool = poolOf(url)
  afterAll(() => pool.end())

  it('delivers every event in order, whatever is killed', async () => {
    const schema = freshSchema()
    onTestFinished(() => dropSchema(pool, schema))
    const store = postgresAdapter(pool, { schema, events: true })
    await store.migrate()
    await expectDeliveryByAll({
      connection: { kind: 'postgres', url, schema },
      store,
      changesPerKey: 100,
    })
  })

  it('delivers first events and ends in time, whatever trouble handlers make', async () => {
    const schema = freshSchema()
    onTestFinished(() => dropSchema(pool, schema))
    const store = postgresAdapter(pool, { schema, events: true })
    await store.migrate()
    await expectTroublesToBeBounded({
      connection: { kind: 'postgres', url, schema },
      store,
      imported: 100_000,
    })
  })
})
