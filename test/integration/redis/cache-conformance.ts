import { afterAll, describe, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { describeMongo } from '../mongo/databases.js'
import { describePostgres } from '../postgres/schemas.js'
import { isLongRun } from '../../long-runs.js'
import { memoryBase, mongoBase, postgresBase, type BaseAdapter } from './base-adapters.js'
import { clientOf, describeRedis, freshPrefix } from './redis-servers.js'
import { sharedByTwo } from './shared-store.js'

describeRedis('two caches on one Redis', (url) => {
  // Of a database, the cache only relies on usages and on the scopes that the driver reports for each write. The tests in
  // touched-scopes.test.ts check those for each driver, so one store under the cache is enough most of the time.
  if (!isLongRun) return conformance(memoryBase(), 20)
  describePostgres('over Postgres', (postgresUrl) => conformance(postgresBase(postgresUrl), 2))
  describeMongo('over MongoDB', (mongoUrl) => conformance(mongoBase(mongoUrl), 2))

  function conformance(base: BaseAdapter, numRuns: number): void {
    const clients = [clientOf(url), clientOf(url)]
    const bases = new Map<StorageObjectStore, StorageObjectStore>()
    const results: string[] = []
    for (const client of clients) recordResults(client, results)
    afterAll(async () => {
      await base.end()
      for (const client of clients) client.disconnect()
    })

    storeConformance({
      name: `redisUsageCache over ${base.name}`,
      numRuns,
      delays: 3,
      test: { describe, it },
      async createStore(context) {
        const store = await base.createStore(context)
        const options = { prefix: freshPrefix(), onError: () => {} }
        const shared = sharedByTwo(store, clients, options)
        bases.set(shared, store)
        return shared
      },
      close: (store) => base.close(bases.get(store)!),
    })

    // Otherwise the suite would only have tested the adapter.
    it(`the suite has read and stored usages in Redis, over ${base.name}`, () => {
      expect(results.filter((result) => result === 'value').length).toBeGreaterThan(20)
      expect(results.filter((result) => result === 'stored').length).toBeGreaterThan(20)
    })
  }
})

/** Records the keyword that each script of the cache returns to this client. */
function recordResults(client: ReturnType<typeof clientOf>, results: string[]): void {
  const evalsha = client.evalsha.bind(client) as (...args: unknown[]) => Promise<string[]>
  Object.assign(client, {
    async evalsha(...args: unknown[]) {
      const result = await evalsha(...args)
      results.push(result[0]!)
      return result
    },
  })
}
