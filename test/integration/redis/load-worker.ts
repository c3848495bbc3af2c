import { Redis } from 'ioredis'
import { openDatabase } from '../races/database.js'
import { serveAsWorker } from '../races/worker.js'
import { longTimeoutCache } from './long-timeout-cache.js'
import { wrapRedis } from './shared-store.js'
import { emptyLoadReport, runLoad, type LoadReport, type LoadTask } from './usage-load.js'

serveAsWorker<LoadTask, LoadReport>(emptyLoadReport(), async (task, report, { finish }) => {
  const { prefix, ttlSeconds, callers, worker, isReliable } = task
  const { open, close } = openDatabase(task.connection, callers)
  const store = open()
  const redis = new Redis(task.redis, { retryStrategy: () => 20 })
  redis.on('error', () => {})
  const counted = wrapRedis(redis, async (_method, call) => {
    const result = await call()
    if (Array.isArray(result) && result[0] === 'value') report.hits++
    return result
  })
  const onError = () => void report.errors++
  // A Redis that hangs must time out. One that only takes long counts as an error too, which does no harm.
  const timeout = isReliable ? {} : { timeout: 2000 }
  const cached = longTimeoutCache(store, counted, { prefix, ttlSeconds, onError, ...timeout })
  await runLoad({ cached, database: store }, report, {
    callers,
    prefix: `worker ${worker}`,
    ttl: ttlSeconds * 1000,
    isReliable,
    isOver: () => finish.aborted,
  })
  await cached.close()
  redis.disconnect()
  await close()
})
