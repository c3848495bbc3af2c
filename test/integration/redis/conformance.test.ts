import { memoryAdapter } from '@svc/db/memory'
import { storeConformance } from '@svc/db/conformance'
import { afterAll, expect, it } from 'vitest'
import { everyGroup } from '../../conformance-groups.js'
import { clientOf, describeRedis, freshPrefix } from './redis-servers.js'
import { sharedByTwo, wrapRedis } from './shared-store.js'

// Of a database, the cache only relies on usages and on the scopes that the driver reports for each write. The tests in
// touched-scopes.test.ts check those for each driver, so a memory store under the cache is enough.
describeRedis('two caches on one Redis', (url) => {
  const results: string[] = []
  const clients = [clientOf(url), clientOf(url)]
  const recorded = clients.map((client) =>
    wrapRedis(client, async (_method, call) => {
      const result = await call()
      results.push((result as string[])[0]!)
      return result
    }),
  )
  afterAll(() => clients.forEach((client) => client.disconnect()))

  storeConformance({
    name: 'redisUsageCache over memoryAdapter',
    numRuns: 5,
    delays: 3,
    test: everyGroup,
    createStore: ({ now, events }) =>
      sharedByTwo(memoryAdapter({ now, events }), recorded, { prefix: freshPrefix(), onError: () => {} }),
  })

  // Otherwise the suite would only have tested the adapter.
  it('the suite has read and stored usages in Redis', () => {
    expect(results.filter((result) => result === 'value').length).toBeGreaterThan(20)
    expect(results.filter((result) => result === 'stored').length).toBeGreaterThan(20)
  })
})
