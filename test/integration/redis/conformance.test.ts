import { memoryBase } from './base-adapters.js'
import { cacheConformance } from './cache-conformance.js'
import { describeRedis } from './redis-servers.js'

// Of a database, the cache only relies on usages and on the scopes that the driver reports for each write. The tests in
// touched-scopes.test.ts check those for each driver, so the memory store under the cache is enough by day.
describeRedis('two caches on one Redis', (url) => cacheConformance(url, memoryBase(), 5))
