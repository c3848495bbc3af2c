import { describeOverPostgres } from './describe-over.js'
import { outageTests } from './outages.js'
import { describePrivateRedis } from './redis-servers.js'

// By day over one database, because the cache handles outages alike over every one.
describePrivateRedis('processes during outages of Redis', (program) => {
  describeOverPostgres('over Postgres', outageTests(program))
})
