import { connect, createServer } from 'node:net'
import { setImmediate } from 'node:timers'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

/**
 * A way to the server on which each answer arrives so much later. It runs in a thread of its own, so that it is no burden
 * to those who wait for it. Resolves to its port.
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

/** Hands each chunk on when its time has come, in the order of their arrival. */
function delayed(milliseconds, handOn) {
  const chunks = []
  const handOnDue = () => {
    while (chunks.length > 0 && chunks[0].due <= performance.now()) handOn(chunks.shift().chunk)
    if (chunks.length > 0) wait()
  }
  // Timers know whole milliseconds only; the rest of the time is waited for turn by turn.
  const wait = () => {
    const left = chunks[0].due - performance.now()
    if (left >= 1) setTimeout(handOnDue, Math.floor(left))
    else setImmediate(handOnDue)
  }
  return (chunk) => {
    chunks.push({ chunk, due: performance.now() + milliseconds })
    if (chunks.length === 1) wait()
  }
}
