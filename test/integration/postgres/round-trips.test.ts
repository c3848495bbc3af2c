import type { StorageObjectStore } from '@svc/db'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresAdapter } from '@svc/db/postgres'
import { SCHEMA } from '../../../src/adapters/postgres/sql/schema.js'
import { eventCalls } from './event-calls.js'
import { everyCall, type NamedCall } from './every-call.js'
import { describePostgres, dropSchema, freshSchema, poolOf } from './schemas.js'
import { wireProxy, type WireProxy } from './wire-proxy.js'

const now = () => new Date()

describePostgres('each call makes one round trip', (url) => {
  const schema = freshSchema()
  const direct = poolOf(url)
  let proxy: WireProxy
  beforeAll(async () => {
    proxy = await wireProxy(url)
    await postgresAdapter(direct, { schema, events: true }).migrate()
  })
  afterAll(async () => {
    await proxy.close()
    await dropSchema(direct, schema)
    await direct.end()
  })

  describe.each([
    ['named statements', true],
    ['unnamed statements', false],
  ])('%s', (statements, namedStatements) => {
    let store: StorageObjectStore
    let client: pg.Client
    beforeAll(async () => {
      client = new pg.Client({ connectionString: proxy.url })
      await client.connect()
      store = postgresAdapter(client, { schema, namedStatements, now, events: true })
    })
    // An open client would keep the proxy from closing.
    afterAll(() => client.end())

    const scope = `scope of ${statements}`
    const counting = { name: 'countEvents', call: (store: StorageObjectStore) => store.countEvents() }
    const calls: NamedCall[] = [...everyCall(scope, now), ...eventCalls(scope, now), counting]
    it.each(calls)('$name', async ({ prepare, call }) => {
      await prepare?.(store)
      for (const attempt of ['first', 'second']) {
        proxy.roundTrips = 0
        await call(store).catch((error: unknown) => {
          // Some calls succeed only once. Their refusal must be one round trip as well.
          if (attempt === 'first') throw error
        })
        expect(proxy.roundTrips).toBe(1)
      }
    })

    it('migrate, if there is nothing to do', async () => {
      proxy.roundTrips = 0
      expect(await store.migrate()).toEqual({ from: SCHEMA.version, to: SCHEMA.version })
      expect(proxy.roundTrips).toBe(1)
    })
  })
})
