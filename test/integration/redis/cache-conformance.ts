import { afterAll, expect, it } from 'vitest'
import type { StorageObjectStore } from '@svc/db'
import { storeConformance } from '@svc/db/conformance'
import { everyGroup } from '../../conformance-groups.js'
import type { BaseAdapter } from './base-adapters.js'
import { clientOf, freshPrefix } from './redis-servers.js'
import { sharedByTwo } from './shared-store.js'

/** Registers the suite over two caches that share a Redis and a store of this adapter. */
export function cacheConformance(url: string, base: BaseAdapter, numRuns: number): void {
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
    test: everyGroup,
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
