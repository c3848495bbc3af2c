import { describeOverMongo } from './describe-over.js'
import { processTests } from './processes.js'
import { describeRedis } from './redis-servers.js'

describeRedis('processes that share Redis', (redis) => {
  describeOverMongo('over MongoDB', processTests(redis))
})
