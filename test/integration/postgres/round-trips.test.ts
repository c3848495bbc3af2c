import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { everyCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './setup.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const now = () => new Date()

describePostgres('each call is one query on the wire', (url) => {
  const schema = freshSchema()
  const direct = poolOf(url)
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await postgresAdapter(direct, { schema }).migrate()
  })
  afterAll(async () => {
    await proxy.close()
    await dropSchema(direct, schema)
    await direct.end()
  })

  for (const namedStatements of [true, false]) {
    const way = namedStatements ? 'named' : 'unnamed'
    for (const { name, prepare, call } of everyCall(`scope of ${way} statements`, now)) {
      it(`${name}, ${way}`, async () => {
        const client = new pg.Client({ connectionString: proxy.url })
        await client.connect()
        try {
          const store = postgresAdapter(client, { schema, namedStatements, now })
          await prepare?.(store)
          for (const time of ['first', 'second']) {
            proxy.roundTrips = 0
            await call(store).catch((error: unknown) => {
              // What can be done once only is refused the second time, by one query as well.
              if (time === 'first') throw error
            })
            expect(proxy.roundTrips).toBe(1)
          }
        } finally {
          await client.end()
        }
      })
    }
  }

  it('migrate is one read where there is nothing to do', async () => {
    const client = new pg.Client({ connectionString: proxy.url })
    await client.connect()
    proxy.roundTrips = 0
    expect(await postgresAdapter(client, { schema }).migrate()).toEqual({ from: 1, to: 1 })
    expect(proxy.roundTrips).toBe(1)
    await client.end()
  })
})
