import { describeMongo } from '../mongo/databases.js'
import { describePostgres } from '../postgres/schemas.js'
import { mongoBase, postgresBase } from './base-adapters.js'
import { cacheConformance } from './cache-conformance.js'
import { describeRedis } from './redis-servers.js'

describeRedis('two caches on one Redis', (url) => {
  describePostgres('over Postgres', (postgresUrl) => cacheConformance(url, postgresBase(postgresUrl), 2))
  describeMongo('over MongoDB', (mongoUrl) => cacheConformance(url, mongoBase(mongoUrl), 2))
})
