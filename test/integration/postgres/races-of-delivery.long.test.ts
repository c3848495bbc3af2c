import { it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { postgresAdapter } from '@svc/db/postgres'
import type { Connection } from '../races/database.js'
import { expectDeliveryByAll } from '../races/delivery-race.js'
import { expectTroublesToBeBounded, TROUBLE_LIMIT } from '../races/delivery-trouble.js'
import { describePostgres, poolOf, schemaOfEachTest } from './schemas.js'

describePostgres('deliverEvents in several processes', (url) => {
  const pool = poolOf(url)
  let place: { connection: Connection; store: StorageObjectStore }
  schemaOfEachTest(pool, async (schema) => {
    const store = postgresAdapter(pool, { schema, events: true })
    await store.migrate()
    place = { connection: { kind: 'postgres', url, schema }, store }
  })

  it('delivers every event in order, whatever is killed', () =>
    expectDeliveryByAll({ ...place, changesPerKey: 100 }))

  it('delivers first events and ends in time, whatever trouble handlers make', TROUBLE_LIMIT, () =>
    expectTroublesToBeBounded({ ...place, imported: 100_000 }),
  )
})
