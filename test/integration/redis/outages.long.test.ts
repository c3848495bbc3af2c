import { describeOverMongo } from './describe-over.js'
import { outageTests } from './outages.js'
import { describePrivateRedis } from './redis-servers.js'

describePrivateRedis('processes during outages of Redis', (program) => {
  describeOverMongo('over MongoDB', outageTests(program))
})
