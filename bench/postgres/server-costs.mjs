import { readFileSync } from 'node:fs'
import { timed } from '../servers/compare-costs.mjs'

/**
 * Creates a function that measures what a piece of work over this connection costs: the time that the caller waits, the
 * processor time of the backend, and how much WAL the server writes. Other load affects only the first. Processor time
 * needs Linux.
 */
export async function measureServerCosts(client) {
  const { pid } = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0]
  const hasProcessorTime = processorMicroseconds(pid) !== null
  const walPosition = async () => {
    const text = `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`
    return (await client.query({ name: 'bench_wal', text })).rows[0].bytes
  }

  return {
    hasProcessorTime,
    async measure(work) {
      const walBefore = await walPosition()
      const processorBefore = processorMicroseconds(pid)
      const { microseconds } = await timed(work)
      const processorAfter = processorMicroseconds(pid)
      if (hasProcessorTime && processorAfter === null)
        throw new Error('The measured connection was replaced.')
      return {
        waiting: microseconds,
        ...(hasProcessorTime && { processor: processorAfter - processorBefore }),
        wal: (await walPosition()) - walBefore,
      }
    },
  }
}

/** Returns how long the process has run on a processor, in microseconds, or `null` on other systems than Linux. */
function processorMicroseconds(pid) {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
  } catch {
    return null
  }
}
