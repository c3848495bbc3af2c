// What a server runs beside its requests, and the order in which all of it ends.
import { once } from 'node:events'
import { clearTimeout, setTimeout } from 'node:timers'
import { runJobs } from '@svc/db'

const REQUEST_MILLISECONDS = 3000

/**
 * Runs the jobs of `s3` until the process gets a signal. Then it aborts `ending`, lets requests, jobs and event handlers end, and
 * calls `closeDatabase`. `server` is the one of Node.js.
 */
export function runUntilSignal({
  server,
  s3,
  ending = new AbortController(),
  cleanUpEverySeconds,
  closeDatabase,
}) {
  const jobs = runJobs(s3, { signal: ending.signal, cleanUpEverySeconds })

  async function stop() {
    ending.abort()
    server.close()
    // Uploads that never finish don't keep the process alive.
    const limit = setTimeout(() => server.closeAllConnections(), REQUEST_MILLISECONDS)
    await once(server, 'close')
    clearTimeout(limit)
    await Promise.all([jobs, s3.close()])
    await closeDatabase?.()
  }
  let stopped
  // `npm start` passes Ctrl+C on, so the signal may come twice.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (stopped ??= stop()))
}
