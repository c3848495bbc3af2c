import { Redis } from 'ioredis'
import { redisUsageCache } from '@svc/db/redis'
import { openDatabase } from './loaded-database.js'
import { patientCache } from './patient-cache.js'
import { aroundRedis } from './shared-store.js'
import type { FromLoadWorker, LoadTask, ToLoadWorker } from './load-processes.js'
import { emptyLoadReport, runLoad } from './usage-load.js'

/** Milliseconds between two messages about how far this process is. */
const PROGRESS = 20

let isOver = false
process.on('message', (message: ToLoadWorker) => {
  if (message.kind === 'finish') isOver = true
  else void work(message.task)
})
// Nobody is there any more to tell it to finish.
process.on('disconnect', () => process.exit())

async function work({ database, redis: url, prefix, ttlSeconds, callers, worker, isReliable }: LoadTask) {
  const report = emptyLoadReport()
  const progress = setInterval(() => send({ kind: 'progress', report: { ...report, faults: [] } }), PROGRESS)
  try {
    const { store, close } = openDatabase(database, callers)
    const redis = new Redis(url, { retryStrategy: () => 20 })
    redis.on('error', () => {})
    const noted = aroundRedis(redis, async (_method, call) => {
      const answer = await call()
      if (Array.isArray(answer) && answer[0] === 'value') report.hits++
      return answer
    })
    const onError = () => void report.told++
    const withCache = isReliable ? patientCache : redisUsageCache
    const cached = withCache(store, noted, { prefix, ttlSeconds, onError })
    await runLoad({ cached, database: store }, report, {
      callers,
      prefix: `worker ${worker}`,
      ttl: ttlSeconds * 1000,
      isReliable,
      isOver: () => isOver,
    })
    await cached.close()
    redis.disconnect()
    await close()
  } catch (error) {
    report.faults.push(`a process failed: ${String(error)}`)
  }
  clearInterval(progress)
  process.send?.({ kind: 'report', report } satisfies FromLoadWorker, () => process.disconnect())
}

function send(message: FromLoadWorker): void {
  process.send?.(message)
}
