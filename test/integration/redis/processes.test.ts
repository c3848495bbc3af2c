import { describeOverPostgres } from './describe-over.js'
import { processTests } from './processes.js'
import { describeRedis } from './redis-servers.js'

// By day over one database, because the cache works alike over every one.
describeRedis('processes that share Redis', (redis) => {
  describeOverPostgres('over Postgres', processTests(redis))
})
