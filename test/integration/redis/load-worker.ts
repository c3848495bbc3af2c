import { Redis } from 'ioredis'
import { openDatabase } from './loaded-database.js'
import { longTimeoutCache } from './long-timeout-cache.js'
import { wrapRedis } from './shared-store.js'
import type { FromLoadWorker, LoadTask, ToLoadWorker } from './load-processes.js'
import { emptyLoadReport, runLoad } from './usage-load.js'

/** Milliseconds between two progress messages. */
const PROGRESS = 20

let isOver = false
process.on('message', (message: ToLoadWorker) => {
  if (message.kind === 'finish') isOver = true
  else void work(message.task)
})
// The parent process is gone.
process.on('disconnect', () => process.exit())

async function work({ database, redis: url, prefix, ttlSeconds, callers, worker, isReliable }: LoadTask) {
  const report = emptyLoadReport()
  const progress = setInterval(() => send({ kind: 'progress', report: { ...report, faults: [] } }), PROGRESS)
  try {
    const { store, close } = openDatabase(database, callers)
    const redis = new Redis(url, { retryStrategy: () => 20 })
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
