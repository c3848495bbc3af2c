import type { StorageObjectStore } from '@svc/db'
import { beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { concurrentWrites, everyCall } from './every-call.js'
import { describePostgresJs } from './postgres-js.js'

const now = () => new Date()

describePostgresJs('postgresAdapter over postgres.js makes one request per call', (server) => {
  const { schema, open, storeOf } = server

  describe.each([
    ['prepared statements', {}, true],
    ['namedStatements: false', {}, false],
    ['prepare: false', { prepare: false }, true],
  ] as const)('%s', (title, options, namedStatements) => {
    let store: StorageObjectStore
    beforeAll(async () => {
      const sql = open({ ...options, max: 1 }, server.proxy.url)
      store = postgresAdapter(sql, { schema, namedStatements, now })
      // A new connection reads the array types first.
      await sql`SELECT 1`
    })

    it.each(everyCall(`scope of postgres.js, ${title}`, now))('$name', async ({ prepare, call }) => {
      await prepare?.(store)
      for (const round of ['first', 'second']) {
        server.proxy.roundTrips = 0
        server.proxy.descriptions = 0
        await call(store).catch((error: unknown) => {
          if (round === 'first') throw error
        })
        expect(server.proxy.roundTrips).toBe(1)
        // postgres.js asks for the types of the parameters first, once for each prepared statement.
        const isKnown = round === 'second' && title === 'prepared statements'
        expect(server.proxy.descriptions).toBeLessThanOrEqual(isKnown ? 0 : 1)
      }
    })
  })

  it('concurrent writes of a scope share requests', async () => {
    const sql = open({}, server.proxy.url)
    const { prepare, call } = concurrentWrites('batched by postgres.js', now)
    const store = storeOf(sql)
    await prepare!(store)
    await Promise.all(Array.from({ length: 10 }, () => sql`SELECT 1`))
    server.proxy.roundTrips = 0
    await call(store)
    // Nine calls. How many share a request depends on when the first responses arrive.
    expect(server.proxy.roundTrips).toBeLessThanOrEqual(6)
  })
})
