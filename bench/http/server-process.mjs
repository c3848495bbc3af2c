// One server in a process of its own: node --expose-gc server-process.mjs FRAMEWORK CONNECTION
import { createServer } from 'node:http'
import pg from 'pg'
import { postgresAdapter } from '../postgres/adapter.mjs'
import { servers } from './servers.mjs'

const [framework, connection] = process.argv.slice(2)
const pool = new pg.Pool({ ...JSON.parse(connection), max: 8, idleTimeoutMillis: 0 })
// The database may end a connection that is just being closed.
pool.on('error', () => {})

const server = createServer(servers[framework](pool, postgresAdapter(pool)))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

const answers = {
  /** Microseconds of processor time so far. */
  cpu() {
    const { user, system } = process.cpuUsage()
    return { microseconds: user + system }
  },
  heap() {
    globalThis.gc()
    globalThis.gc()
    return { heapBytes: process.memoryUsage().heapUsed }
  },
}
process.on('message', (question) => process.send(answers[question]()))
process.on('disconnect', () => process.exit())
