import { memoryAdapter } from '@svc/db/memory'
import { storeConformance, type TestRunner } from '@svc/db/conformance'
import { afterAll, expect, it } from 'vitest'
import { isLongLists, isScripts } from '../../conformance-groups.js'
import { clientOf, describeRedis, freshPrefix } from './redis-servers.js'
import { sharedByTwo, wrapRedis } from './shared-store.js'

interface Extent {
  /** Registers the groups of the suite that run. */
  readonly test: TestRunner
  readonly numRuns: number
}

/** Groups about reads and writes that the cache passes on unchanged, because they change no usage. */
const PASSED_ON = [
  ...['validation', 'records', 'strings', 'metadata', 'cursor', 'all fields', 'all fields of events'],
  ...['find calls', 'findById', 'countByScope', 'listByScope', 'listScopes', 'listScopes with a prefix'],
  ...['listStored', 'listExpired', 'listTemporary', 'listArrived', 'arrived attempts'],
  ...[
    'leftovers',
    'leftovers by scope',
    'deferLeftover',
    'history',
    'history of an object',
    'history of a scope',
  ],
  ...['events', 'listEvents', 'claimEvents', 'settleEvents', 'extendClaims'],
  ...['update', 'setMetadata of an update', 'setUploadId'],
]

/** What runs in long runs only. */
export const isForLongRuns = (group: string) =>
  isScripts(group) || isLongLists(group) || PASSED_ON.includes(group)

// Of a database, the cache only relies on usages and on the scopes that the driver reports for each write. The tests in
// touched-scopes.test.ts check those for each driver, so a memory store under the cache is enough.
export function conformanceOnRedis(extent: Extent): void {
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
      ...extent,
      delays: 3,
      createStore: ({ now, events }) =>
        sharedByTwo(memoryAdapter({ now, events }), recorded, { prefix: freshPrefix(), onError: () => {} }),
    })

    // Otherwise the suite would only have tested the adapter.
    it('the suite has read and stored usages in Redis', () => {
      expect(results.filter((result) => result === 'value').length).toBeGreaterThan(20)
      expect(results.filter((result) => result === 'stored').length).toBeGreaterThan(20)
    })
  })
}
