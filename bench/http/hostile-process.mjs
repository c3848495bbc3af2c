// Runs the servers of one framework in a separate process: node hostile-process.mjs FRAMEWORK
// One serves the library; the other returns the same responses from a bare route, to measure the framework alone.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { hostileServers, objects } from './hostile-servers.mjs'

const [framework] = process.argv.slice(2)
/** The response of the bare route. */
const recorded = { status: 200, body: '' }
const listeners = hostileServers[framework](await objects(), recorded)

const ports = {}
for (const [side, listener] of Object.entries(listeners)) {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ports[side] = server.address().port
}
process.send({ ports })

process.on('message', (message) => {
  if (message.record) Object.assign(recorded, message.record)
  const { user, system } = process.cpuUsage()
  process.send({ microseconds: user + system })
})
process.on('disconnect', () => process.exit())
