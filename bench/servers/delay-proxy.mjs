import { connect, createServer } from 'node:net'
import { setImmediate } from 'node:timers'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/**
 * Starts a TCP proxy that delays every response, and returns its port. It runs in a separate thread, so it does not use
 * CPU time of the measured code.
 */
export function startDelayProxy(target, milliseconds) {
  const worker = new Worker(new URL(import.meta.url), { workerData: { target, milliseconds } })
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', (port) => resolve({ port, stop: () => worker.terminate() }))
  })
}

if (!isMainThread) {
  const { target, milliseconds } = workerData
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connect({ ...target, noDelay: true })
    upstream.on(
      'data',
      delayed(milliseconds, (chunk) => client.write(chunk)),
    )
    client.on('data', (chunk) => upstream.write(chunk))
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      socket.on('error', () => {})
      socket.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
}

/** Forwards each chunk after the delay, in order of arrival. */
function delayed(milliseconds, forward) {
  const chunks = []
  const forwardDue = () => {
    while (chunks.length > 0 && chunks[0].due <= performance.now()) forward(chunks.shift().chunk)
    if (chunks.length > 0) wait()
  }
  // Timers have a resolution of 1 ms, so the rest is spent in the event loop.
  const wait = () => {
    const left = chunks[0].due - performance.now()
    if (left >= 1) setTimeout(forwardDue, Math.floor(left))
    else setImmediate(forwardDue)
  }
  return (chunk) => {
    chunks.push({ chunk, due: performance.now() + milliseconds })
    if (chunks.length === 1) wait()
  }
}
