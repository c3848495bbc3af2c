import { MongoClient } from 'mongodb'
import { mongoAdapter } from '@svc/db/mongo'
import { importSource } from '../own-source.mjs'

const { MONGODB, installedMongod, startReplicaSet } = await importSource('test/servers/mongod.ts')

/**
 * Starts the adapter on a private server, reached directly or through the proxy that `proxyTo` starts. `null` without a
 * server.
 */
export async function startMongoBase(name, proxyTo = async ({ port }) => ({ port, stop: async () => {} })) {
  const program = installedMongod()
  if (program === null) {
    console.error(`Skipped: the usage cache over ${name}. No server found: ${MONGODB.howToGet}.`)
    return null
  }
  const set = await startReplicaSet(program, { members: 1, durable: true })
  const { hostname, port } = new URL(set.url)
  const proxy = await proxyTo({ host: hostname, port: Number(port) })
  const client = new MongoClient(`mongodb://127.0.0.1:${proxy.port}/?directConnection=true`)
  const store = mongoAdapter(client.db('bench'))
  await store.migrate()
  return {
    name,
    store,
    async stop() {
      await client.close()
      await proxy.stop()
      await set.remove()
    },
  }
}
