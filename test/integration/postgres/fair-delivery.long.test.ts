import { it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { ManualClock } from '../../conformance/clock.js'
import { testFairDelivery } from '../../unit/server/events/fair-delivery.js'
import { checkRandomDelivery } from '../../unit/server/events/random-delivery.js'
import { describePostgres, poolOf, schemaOfEachTest } from './schemas.js'

describePostgres('delivery of events of many owners', (url) => {
  const pool = poolOf(url)
  let name: string
  schemaOfEachTest(pool, async (schema) => {
    name = schema
    await postgresAdapter(pool, { schema, events: true }).migrate()
  })
  const newStore = () => {
    const clock = new ManualClock()
    return { clock, store: postgresAdapter(pool, { schema: name, events: true, now: clock.now }) }
  }

  testFairDelivery(newStore)

  // The runs share a schema, and leave nothing to deliver behind.
  it('delivers every change once, in the order of its object', () => checkRandomDelivery(newStore, 10))
})
