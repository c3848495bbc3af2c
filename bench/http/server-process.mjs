// Runs one server in a separate process: node --expose-gc server-process.mjs FRAMEWORK CONNECTION BUCKET
// BUCKET is the connection to an S3 service, or null for a stub.
import { createServer } from 'node:http'
import pg from 'pg'
import { postgresAdapter } from '@svc/db/postgres'
import { realBucket, stubBucket } from './buckets.mjs'
import { servers } from './servers.mjs'

const [framework, connection, bucket] = process.argv.slice(2)
const pool = new pg.Pool({ ...JSON.parse(connection), max: 8, idleTimeoutMillis: 0 })
// The server may end a connection while it is being closed.
pool.on('error', () => {})

const gateway = JSON.parse(bucket)
const bucketCalls = gateway === null ? stubBucket() : realBucket(gateway)
const server = createServer(await servers[framework](pool, postgresAdapter(pool), bucketCalls))
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

const replies = {
  /** Returns the CPU time so far, in microseconds. */
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
process.on('message', (request) => process.send(replies[request]()))
process.on('disconnect', () => process.exit())
