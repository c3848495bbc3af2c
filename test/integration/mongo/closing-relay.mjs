// Relays to a server from a worker thread, which closes the clients' connections while the main thread is blocked.
import { connect, createServer } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'

/** @type {{ hostname: string, port: number, signal: Int32Array }} */
const { hostname, port, signal } = workerData
/** @type {Set<import('node:net').Socket>} */
const clients = new Set()

const listener = createServer((client) => {
  const server = connect(port, hostname)
  clients.add(client)
  client.on('close', () => {
    clients.delete(client)
    server.destroy()
  })
  server.on('close', () => client.destroy())
  client.on('error', () => {})
  server.on('error', () => {})
  client.pipe(server).pipe(client)
})
listener.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address())
  parentPort?.postMessage(port)
})

parentPort?.on('message', async (/** @type {'FIN' | 'RST'} */ end) => {
  const closed = [...clients].map((client) => {
    const isClosed = new Promise((resolve) => client.once('close', resolve))
    if (end === 'RST') client.resetAndDestroy()
    else client.destroy()
    return isClosed
  })
  await Promise.all(closed)
  Atomics.store(signal, 0, 1)
  Atomics.notify(signal, 0)
})
