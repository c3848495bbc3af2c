import { median } from '../ratios.mjs'
import { startServer } from './child.mjs'
import { LIBRARY_PATH } from './servers.mjs'

const SAMPLES = 42
/** How much the last third may hold more than the middle one: for what the engine still compiles and caches. */
const GROWTH = 1.05
const MORE_MEGABYTES = 0.5

/** The heap after a garbage collection, sampled over a run of requests through the binding. */
export async function sampleHeap(framework, connection, load, requests) {
  const server = await startServer(framework, connection)
  // A page of one row, because it is the requests that count.
  const url = `${server.origin}${LIBRARY_PATH}?limit=1`
  const each = Math.ceil(requests / SAMPLES)
  const megabytes = []
  let done = 0
  while (megabytes.length < SAMPLES) {
    const answer = await load.ask({ url, cookie: server.cookie, requests: each })
    if (answer.failed > 0) throw new Error(`${framework}: ${answer.failed} requests have failed.`)
    done += answer.requests
    const { heapBytes } = await server.ask('heap')
    megabytes.push(heapBytes / 2 ** 20)
  }
  await server.stop()

  const third = SAMPLES / 3
  const thirds = [0, 1, 2].map((part) => median(megabytes.slice(part * third, (part + 1) * third)))
  const missed = thirds[2] > thirds[1] * GROWTH + MORE_MEGABYTES
  return { framework, requests: done, thirds, highest: Math.max(...megabytes), missed }
}
