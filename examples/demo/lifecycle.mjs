import { setTimeout as wait } from 'node:timers/promises'
import { cleanUp, deliverEvents } from '@svc/db'
import { printFailure } from './failures.mjs'

const POLL_SECONDS = 5
const CLEAN_UP_MILLISECONDS = 60_000

/** Runs the jobs of a server until the process gets a signal, then aborts `ending`, ends requests and jobs, and closes the database. */
export function runUntilSignal({ server, s3, database, ending }) {
  const { signal } = ending
  // Retries events that failed, and delivers those of earlier runs.
  const jobs = [deliverEvents(s3, { pollSeconds: POLL_SECONDS, signal }), cleanUpRegularly(s3, signal)]
  for (const name of ['SIGINT', 'SIGTERM']) {
    process.once(name, () => {
      ending.abort()
      // Requests in progress may finish before the database closes.
      server.close(async () => {
        await Promise.allSettled(jobs)
        await database.close()
      })
      // Idle connections and uploads that never finish don't keep the process alive.
      server.closeIdleConnections()
      setTimeout(() => server.closeAllConnections(), 3000).unref()
    })
  }
}

/** Confirms uploads whose tab was closed too early, drops abandoned ones and deletes bytes without a record. */
async function cleanUpRegularly(s3, signal) {
  while (!signal.aborted) {
    await wait(CLEAN_UP_MILLISECONDS, null, { signal }).catch(() => null)
    await cleanUp(s3).catch((error) => printFailure(error, { operation: 'cleanUp' }))
  }
}
