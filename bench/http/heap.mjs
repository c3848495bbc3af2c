import { median } from '../ratios.mjs'
import { startServer } from './child-process.mjs'
import { scope } from './listed-scope.mjs'
import { MOUNTS } from './servers.mjs'

const SAMPLES = 42
/** Allowed growth from the middle third of a run to the last, for what the engine still compiles and caches. */
const GROWTH = 1.05
const GROWTH_MEGABYTES = 0.5

/** Samples the heap after a garbage collection during a run of requests through the binding. */
export async function sampleHeap(framework, connection, load, requests) {
  const server = await startServer(framework, connection)
  // A page of one row, because the number of requests matters, not their size.
  const url = `${server.origin}${MOUNTS.library}/db/objects?limit=1`
  const callers = [{ cookie: await server.signIn(scope) }]
  const each = Math.ceil(requests / SAMPLES)
  const megabytes = []
  let done = 0
  while (megabytes.length < SAMPLES) {
    const result = await load.request({ url, callers, requests: each })
    if (result.failed > 0) throw new Error(`${framework}: ${result.failed} requests failed.`)
    done += result.requests
    const { heapBytes } = await server.request('heap')
    megabytes.push(heapBytes / 2 ** 20)
  }
  await server.stop()

  const third = SAMPLES / 3
  const thirds = [0, 1, 2].map((part) => median(megabytes.slice(part * third, (part + 1) * third)))
  const missed = thirds[2] > thirds[1] * GROWTH + GROWTH_MEGABYTES
  return { framework, requests: done, thirds, highest: Math.max(...megabytes), missed }
}
